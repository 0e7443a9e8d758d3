#ifndef DATABASE_H
#define DATABASE_H

#include <sqlite3.h>

/* Opens a new database with the pragmas that the daemon sets. */
sqlite3 *make_database(const char *path);

/* Opens a database that is there, to read it. */
sqlite3 *open_database(const char *path);

/* Each ends the program where SQLite says no. */
void run_sql(sqlite3 *database, const char *sql);
sqlite3_stmt *prepare(sqlite3 *database, const char *sql);
void run_statement(sqlite3_stmt *statement);

/* Copies the log into the file, and closes. */
void close_database(sqlite3 *database);

#endif

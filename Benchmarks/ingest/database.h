#ifndef DATABASE_H
#define DATABASE_H

#include <sqlite3.h>

/* Opens a new database with the daemon's pragmas, except for those that database.c explains. */
sqlite3 *make_database(const char *path);

/* Opens an existing database for reading. */
sqlite3 *open_database(const char *path);

/* Each of these functions ends the program if SQLite returns an error. */
void run_sql(sqlite3 *database, const char *sql);
sqlite3_stmt *prepare(sqlite3 *database, const char *sql);
void run_statement(sqlite3_stmt *statement);

/* Finalizes all statements and closes the database, which checkpoints the WAL. */
void close_database(sqlite3 *database);

#endif

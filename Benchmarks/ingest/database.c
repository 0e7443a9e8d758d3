#include "database.h"

#include <stddef.h>

#include "failure.h"

static sqlite3 *open_with(const char *path, int flags) {
    sqlite3 *database = NULL;
    int code = sqlite3_open_v2(path, &database, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) fail("%s: %s", path, database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code));
    return database;
}

sqlite3 *make_database(const char *path) {
    sqlite3 *database = open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    // As in Sources/IssueStore/Schema/Schema.swift, except for the page cache (4 MiB there), the missing
    // journal_size_limit, and the checkpoints: SQLite starts them here after 1,024 pages, while the daemon starts
    // its own after 512 (`DiskBudget.checkpointBytes`).
    run_sql(
        database,
        "PRAGMA page_size = 8192;"
        "PRAGMA auto_vacuum = INCREMENTAL;"
        "PRAGMA journal_mode = WAL;"
        "PRAGMA synchronous = FULL;"
        "PRAGMA foreign_keys = ON;"
        "PRAGMA cache_size = -16384;"
        "PRAGMA temp_store = MEMORY;"
        "PRAGMA secure_delete = OFF;"
        "PRAGMA wal_autocheckpoint = 1024;");
    return database;
}

sqlite3 *open_database(const char *path) {
    return open_with(path, SQLITE_OPEN_READONLY);
}

void run_sql(sqlite3 *database, const char *sql) {
    char *reason = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &reason) != SQLITE_OK) fail("%s: %s", sql, reason);
}

sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
        fail("%s: %s", sql, sqlite3_errmsg(database));
    }
    return statement;
}

void run_statement(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    if (code != SQLITE_DONE) fail("%s: %s", sqlite3_sql(statement), sqlite3_errmsg(sqlite3_db_handle(statement)));
    sqlite3_reset(statement);
}

void close_database(sqlite3 *database) {
    for (sqlite3_stmt *statement; (statement = sqlite3_next_stmt(database, NULL)) != NULL;) sqlite3_finalize(statement);
    if (sqlite3_close(database) != SQLITE_OK) fail("closing: %s", sqlite3_errmsg(database));
}

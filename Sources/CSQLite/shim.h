#pragma once
#include <sqlite3.h>

// What Swift cannot say: variadic functions, destructors that are integers cast
// to pointers, and structures that extend one of SQLite's as their first member.

/// Turns a switch of one connection on or off (sqlite3_db_config is variadic).
static inline int csqlite_db_config_switch(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

/// Sets the observer of SQLite's own log (sqlite3_config is variadic).
static inline int csqlite_config_log(void (*observe)(void *, int, const char *), void *context) {
    return sqlite3_config(SQLITE_CONFIG_LOG, observe, context);
}

/// Forbids views and triggers to name a virtual table (sqlite3_vtab_config is variadic).
static inline int csqlite_vtab_config_directonly(sqlite3 *db) {
    return sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
}

/// The errno of the last call that failed on one of the file's descriptors, or 0 (the methods of a file are pointers
/// in a structure that SQLite gives out untyped).
static inline int csqlite_file_errno(sqlite3 *db, int which) {
    sqlite3_file *file = 0;
    int code = 0;
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK || file == 0 || file->pMethods == 0) return 0;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code) != SQLITE_OK) return 0;
    return code;
}

/// Makes SQLite copy the bytes (SQLITE_TRANSIENT is not a value that Swift imports).
static inline int csqlite_bind_text_copied(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(s, position, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob_copied(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(s, position, bytes, count, SQLITE_TRANSIENT);
}

/// Lets SQLite read the bytes where they are; they must outlive the binding.
static inline int csqlite_bind_text_lent(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(s, position, (const char *)bytes, count, SQLITE_STATIC, SQLITE_UTF8);
}

static inline int csqlite_bind_blob_lent(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(s, position, bytes, count, SQLITE_STATIC);
}

static inline void csqlite_result_text_copied(sqlite3_context *c, const void *bytes, sqlite3_uint64 count) {
    sqlite3_result_text64(c, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline void csqlite_result_blob_copied(sqlite3_context *c, const void *bytes, sqlite3_uint64 count) {
    sqlite3_result_blob64(c, bytes, count, SQLITE_TRANSIENT);
}

static inline void csqlite_result_text_lent(sqlite3_context *c, const void *bytes, sqlite3_uint64 count) {
    sqlite3_result_text64(c, (const char *)bytes, count, SQLITE_STATIC, SQLITE_UTF8);
}

static inline void csqlite_result_blob_lent(sqlite3_context *c, const void *bytes, sqlite3_uint64 count) {
    sqlite3_result_blob64(c, bytes, count, SQLITE_STATIC);
}

/// A virtual table over rows in memory.
typedef struct csqlite_batch_vtab {
    sqlite3_vtab base;
    const void *table;
} csqlite_batch_vtab;

/// A scan of such a table; `rows` is owned by the cursor.
typedef struct csqlite_batch_cursor {
    sqlite3_vtab_cursor base;
    const void *rows;
    sqlite3_int64 row;
    sqlite3_int64 count;
} csqlite_batch_cursor;

/// Says why a virtual table failed, in memory that SQLite frees (sqlite3_mprintf is variadic).
static inline void csqlite_vtab_explain(sqlite3_vtab *table, const char *words) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", words);
}

/// Syncs the main database file through the descriptor that SQLite has open on it.
static inline int csqlite_sync_main_file(sqlite3 *db) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods) return SQLITE_MISUSE;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

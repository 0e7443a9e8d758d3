#pragma once
#include <sqlite3.h>

// Wrappers for what Swift cannot express: variadic functions, destructors that are integers cast to pointers, and
// structures whose first member is a structure of SQLite. SQLite's functions for open files are also called here.

/// Turns an option of a connection on or off (sqlite3_db_config is variadic).
static inline int csqlite_db_config_switch(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

/// Sets the callback for SQLite's error log (sqlite3_config is variadic).
static inline int csqlite_config_log(void (*observe)(void *, int, const char *), void *context) {
    return sqlite3_config(SQLITE_CONFIG_LOG, observe, context);
}

/// Prevents views and triggers from using a virtual table, or else allows it although the schema is not trusted
/// (sqlite3_vtab_config is variadic). A table that they may use must have no side effects.
static inline int csqlite_vtab_restrict(sqlite3 *db, int is_restricted) {
    return sqlite3_vtab_config(db, is_restricted ? SQLITE_VTAB_DIRECTONLY : SQLITE_VTAB_INNOCUOUS);
}

/// Returns the errno of the last failed call on an open file; 0 if there is none or it is unknown. Here and below,
/// `which` is SQLITE_FCNTL_FILE_POINTER for the database file, or SQLITE_FCNTL_JOURNAL_POINTER for its WAL.
static inline int csqlite_file_errno(sqlite3 *db, int which) {
    sqlite3_file *file = 0;
    int code = 0;
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK || file == 0 || file->pMethods == 0) return 0;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code) != SQLITE_OK) return 0;
    return code;
}

/// Binds a copy of the bytes (Swift does not import the value SQLITE_TRANSIENT).
static inline int csqlite_bind_text_copied(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(s, position, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob_copied(sqlite3_stmt *s, int position, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(s, position, bytes, count, SQLITE_TRANSIENT);
}

/// A virtual table.
typedef struct csqlite_row_vtab {
    sqlite3_vtab base;
    const void *table;
} csqlite_row_vtab;

/// A value of a row in memory. `kind` is 0 for NULL, 1 for an integer, 2 for a text and 3 for a blob. `value` is the
/// integer, or the offset of the first byte of the text or blob. `length` is the number of bytes.
typedef struct csqlite_batch_cell {
    sqlite3_int64 value;
    unsigned int length;
    unsigned int kind;
} csqlite_batch_cell;

/// Sets the error message of a virtual table, in memory that SQLite frees (sqlite3_mprintf is variadic).
static inline void csqlite_vtab_explain(sqlite3_vtab *table, const char *words) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", words);
}

// The callbacks for each row and each value are in C: they take a dozen instructions, and a call into Swift and back
// would take a hundred.

/// Passes a value of a row in memory to SQLite, which copies a text or blob.
static inline int csqlite_batch_result(
    sqlite3_context *context, const csqlite_batch_cell *cell, const unsigned char *bytes, sqlite3_uint64 byte_count) {
    if (cell->kind == 0) return SQLITE_OK;
    if (cell->kind == 1) {
        sqlite3_result_int64(context, cell->value);
        return SQLITE_OK;
    }
    if (cell->value < 0 || (sqlite3_uint64)cell->value + cell->length > byte_count) {
        sqlite3_result_error(context, "a value of a row in memory ends outside its bytes", -1);
        return SQLITE_ERROR;
    }
    // An empty value needs an address too: SQLite treats a null pointer as NULL.
    const char *start = bytes == 0 ? "" : (const char *)bytes + cell->value;
    if (cell->kind == 2) {
        sqlite3_result_text64(context, start, cell->length, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
        sqlite3_result_blob64(context, start, cell->length, SQLITE_TRANSIENT);
    }
    return SQLITE_OK;
}

/// Sets `idxStr` to the bit mask of the columns that a query uses. SQLite passes the string to xFilter and frees it.
static inline int csqlite_plan_columns(sqlite3_index_info *info) {
    info->idxStr = sqlite3_mprintf("%llu", info->colUsed);
    info->needToFreeIdxStr = 1;
    return info->idxStr == 0 ? SQLITE_NOMEM : SQLITE_OK;
}

/// Returns the bit mask that `csqlite_plan_columns` has stored.
static inline sqlite3_uint64 csqlite_planned_columns(const char *text) {
    sqlite3_uint64 columns = 0;
    for (; text != 0 && *text >= '0' && *text <= '9'; text++) columns = columns * 10 + (sqlite3_uint64)(*text - '0');
    return columns;
}

/// A scan of a table whose rows are made on demand, some at a time. The first column of a row is its id. `step` is 1,
/// or -1 to read the rows in memory backwards. `refill` loads the next rows, and sets `count` to 0 at the end.
typedef struct csqlite_row_cursor {
    sqlite3_vtab_cursor base;
    const void *state;
    const csqlite_batch_cell *cells;
    const unsigned char *bytes;
    sqlite3_uint64 byte_count;
    int columns;
    int step;
    sqlite3_int64 count;
    sqlite3_int64 row;
    int (*refill)(struct csqlite_row_cursor *);
} csqlite_row_cursor;

static inline int csqlite_row_next(sqlite3_vtab_cursor *base) {
    csqlite_row_cursor *cursor = (csqlite_row_cursor *)base;
    cursor->row += cursor->step;
    if (cursor->row >= 0 && cursor->row < cursor->count) return SQLITE_OK;
    return cursor->refill == 0 ? SQLITE_MISUSE : cursor->refill(cursor);
}

static inline int csqlite_row_is_at_end(sqlite3_vtab_cursor *base) {
    return ((csqlite_row_cursor *)base)->count == 0;
}

static inline int csqlite_row_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    csqlite_row_cursor *cursor = (csqlite_row_cursor *)base;
    if (column < 0 || column >= cursor->columns || cursor->row >= cursor->count) return SQLITE_MISUSE;
    return csqlite_batch_result(
        context, &cursor->cells[cursor->row * cursor->columns + column], cursor->bytes, cursor->byte_count);
}

static inline int csqlite_row_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row) {
    csqlite_row_cursor *cursor = (csqlite_row_cursor *)base;
    if (cursor->row >= cursor->count) return SQLITE_MISUSE;
    *row = cursor->cells[cursor->row * cursor->columns].value;
    return SQLITE_OK;
}

/// Returns the size of the database file in bytes; -1 if it is unknown.
static inline sqlite3_int64 csqlite_file_size(sqlite3 *db) {
    sqlite3_file *file = 0;
    sqlite3_int64 size = -1;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return -1;
    if (file == 0 || file->pMethods == 0 || file->pMethods->xFileSize(file, &size) != SQLITE_OK) return -1;
    return size;
}

/// Extends the database file to a size in bytes, and allocates the disk space in units of `page` bytes.
static inline int csqlite_file_extend(sqlite3 *db, sqlite3_int64 size, int page) {
    // SQLite does this only for a file with a chunk size, which is otherwise not set.
    int none = 0;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_CHUNK_SIZE, &page);
    if (code == SQLITE_OK) code = sqlite3_file_control(db, "main", SQLITE_FCNTL_SIZE_HINT, &size);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_CHUNK_SIZE, &none);
    return code;
}

/// Returns the open file; NULL if there is none.
static inline sqlite3_file *csqlite_file(sqlite3 *db, int which) {
    sqlite3_file *file = 0;
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK) return 0;
    return file != 0 && file->pMethods != 0 ? file : 0;
}

/// Reads bytes directly from a file, without SQLite's cache.
static inline int csqlite_file_read(sqlite3 *db, int which, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *file = csqlite_file(db, which);
    return file == 0 ? SQLITE_MISUSE : file->pMethods->xRead(file, bytes, count, offset);
}

/// Returns the size of the WAL file in bytes; -1 if it is unknown.
static inline sqlite3_int64 csqlite_wal_size(sqlite3 *db) {
    sqlite3_file *file = csqlite_file(db, SQLITE_FCNTL_JOURNAL_POINTER);
    sqlite3_int64 size = -1;
    return file == 0 || file->pMethods->xFileSize(file, &size) != SQLITE_OK ? -1 : size;
}

static inline int csqlite_file_write(sqlite3 *db, const void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *file = csqlite_file(db, SQLITE_FCNTL_FILE_POINTER);
    return file == 0 ? SQLITE_MISUSE : file->pMethods->xWrite(file, bytes, count, offset);
}

static inline int csqlite_file_sync(sqlite3 *db, int which) {
    sqlite3_file *file = csqlite_file(db, which);
    return file == 0 ? SQLITE_MISUSE : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

/// Acquires or releases the lock that every checkpoint acquires (sqlite.org/walformat.html, 2.3.2).
static inline int csqlite_checkpoint_lock(sqlite3 *db, int on) {
    sqlite3_file *file = csqlite_file(db, SQLITE_FCNTL_FILE_POINTER);
    if (file == 0 || file->pMethods->iVersion < 2 || file->pMethods->xShmLock == 0) return SQLITE_MISUSE;
    const int checkpoint = 1;
    return file->pMethods->xShmLock(
        file, checkpoint, 1, (on ? SQLITE_SHM_LOCK : SQLITE_SHM_UNLOCK) | SQLITE_SHM_EXCLUSIVE);
}

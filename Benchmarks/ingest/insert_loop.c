/* Stores the record log in a simple table: one row per record, each with one bind and
   one step. record_log.c writes the other tables. */
#include "database.h"
#include "record_log.h"

static const char table[] =
    "CREATE TABLE records (id INTEGER PRIMARY KEY, series INTEGER NOT NULL, process INTEGER NOT NULL,"
    " received_at INTEGER NOT NULL, occurred INTEGER, first_occurred INTEGER, count INTEGER NOT NULL, message ANY,"
    " metadata TEXT, details TEXT) STRICT;";

static sqlite3_stmt *insert;

static void create(sqlite3 *database) {
    run_sql(database, table);
    insert = prepare(
        database,
        "INSERT INTO records (id, series, process, received_at, occurred, first_occurred, count, message,"
        " metadata, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
}

static void store(const struct row *rows, uint32_t count, int64_t first_id, int64_t received_at) {
    for (const struct row *row = rows; row < rows + count; row++) {
        sqlite3_bind_int64(insert, 1, first_id + (row - rows));
        sqlite3_bind_int64(insert, 2, row->series);
        sqlite3_bind_int64(insert, 3, row->process);
        sqlite3_bind_int64(insert, 4, received_at);
        sqlite3_bind_int64(insert, 5, row->occurred);
        sqlite3_bind_int64(insert, 7, row->count);
        sqlite3_bind_blob(insert, 8, row->parts, (int)row->parts_length, SQLITE_STATIC);
        sqlite3_bind_text(insert, 9, row->metadata, (int)row->metadata_length, SQLITE_STATIC);
        run_statement(insert);
    }
}

int main(int argument_count, char **arguments) {
    static const struct record_log log = {create, store};
    return run_loop(argument_count, arguments, &log);
}

/* Stores the record log in blocks of the daemon's format: consecutive records, column by
   column, compressed. record_log.c writes the other tables. */
#include <string.h>

#include "block.h"
#include "database.h"
#include "record_log.h"

static sqlite3_stmt *insert;

static void create(sqlite3 *database) {
    // As in Sources/IssueStore/Schema/Schema.swift; `check` compares them.
    run_sql(
        database,
        "CREATE TABLE blocks (first_id INTEGER PRIMARY KEY, last_id INTEGER NOT NULL, records INTEGER NOT NULL,"
        " checksum INTEGER NOT NULL, body BLOB NOT NULL) STRICT;");
    insert = prepare(
        database, "INSERT INTO blocks (first_id, last_id, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5)");
}

static void store(const struct row *rows, uint32_t count, int64_t first_id, int64_t received_at) {
    for (uint32_t start = 0; start < count; start += BLOCK_RECORDS) {
        uint32_t part = count - start < BLOCK_RECORDS ? count - start : BLOCK_RECORDS;
        struct block_id id = {first_id + start, first_id + start + part - 1, part};
        struct bytes body = encode_block(rows + start, part, received_at);
        sqlite3_bind_int64(insert, 1, id.first_id);
        sqlite3_bind_int64(insert, 2, id.last_id);
        sqlite3_bind_int64(insert, 3, id.records);
        sqlite3_bind_int64(insert, 4, block_checksum(id, body));
        sqlite3_bind_blob(insert, 5, body.start, (int)body.length, SQLITE_STATIC);
        run_statement(insert);
    }
}

int main(int argument_count, char **arguments) {
    static const struct record_log log = {create, store};
    return run_loop(argument_count, arguments, &log);
}

/* Checks the daemon's database after a run: it must have the acknowledged records, its
   sums must match its rows, and the tables of the loop must have the same columns.
   Prints each difference. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "database.h"
#include "failure.h"

static int faults;

static int64_t integer(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = prepare(database, sql);
    if (sqlite3_step(statement) != SQLITE_ROW) fail("%s: %s", sql, sqlite3_errmsg(database));
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void expect(const char *what, int64_t found, int64_t wanted) {
    if (found == wanted) return;
    printf("%s: %" PRId64 " instead of %" PRId64 "\n", what, found, wanted);
    faults++;
}

/* Creates a temporary table with the id and series of each record. */
static void read_blocks(sqlite3 *database) {
    run_sql(database, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE records (id INTEGER PRIMARY KEY, series INTEGER)");
    sqlite3_stmt *insert = prepare(database, "INSERT INTO temp.records VALUES (?1, ?2)");
    sqlite3_stmt *blocks = prepare(
        database, "SELECT first_id, last_id, records, checksum, body FROM blocks ORDER BY first_id");
    run_sql(database, "BEGIN");
    int64_t last_id = 0;
    while (sqlite3_step(blocks) == SQLITE_ROW) {
        struct block_id id = {
            sqlite3_column_int64(blocks, 0), sqlite3_column_int64(blocks, 1), sqlite3_column_int64(blocks, 2)};
        struct bytes body = {sqlite3_column_blob(blocks, 4), (size_t)sqlite3_column_bytes(blocks, 4)};
        if (id.first_id <= last_id) expect("first id of a block that overlaps the one before", id.first_id, last_id + 1);
        last_id = id.last_id;
        const struct record_head *records = decode_block(id, sqlite3_column_int64(blocks, 3), body);
        for (int64_t index = 0; index < id.records; index++) {
            sqlite3_bind_int64(insert, 1, records[index].id);
            sqlite3_bind_int64(insert, 2, records[index].series);
            run_statement(insert);
        }
    }
    run_sql(database, "COMMIT");
}

/* Expects exactly the acknowledged records. */
static void check_records(sqlite3 *database, int64_t records, int64_t series) {
    expect("records", integer(database, "SELECT count(*) FROM records"), records);
    expect("series", integer(database, "SELECT count(*) FROM series"), series);
    expect("series without a record",
           integer(database, "SELECT count(*) FROM series WHERE id NOT IN (SELECT DISTINCT series FROM records)"), 0);
    expect("records in the ledger",
           integer(database, "SELECT sum(records) FROM ledger WHERE destination = 0 AND fate = 7"), records);
    expect("accounts that do not balance", integer(database, "SELECT count(*) FROM ledger_check"), 0);
}

/* Expects the sums written when a range closes to match its rows. */
static void check_ranges(sqlite3 *database) {
    int64_t closed = integer(database, "SELECT coalesce(max(last_id), 0) FROM ranges");
    int64_t rows = integer(
        database, "SELECT count(*) FROM records WHERE id <= (SELECT coalesce(max(last_id), 0) FROM ranges)");
    expect("rows up to the last closed range", rows, closed);
    expect("records in ranges", integer(database, "SELECT coalesce(sum(records), 0) FROM ranges"), rows);
    expect("records in posting lists", integer(database, "SELECT coalesce(sum(records), 0) FROM postings"), rows);
    expect("records in totals", integer(database, "SELECT coalesce(sum(records), 0) FROM totals"), rows);
    expect("records in counts", integer(database, "SELECT coalesce(sum(records), 0) FROM counts"), rows);
    expect("posting lists that disagree with their rows",
           integer(
               database,
               "SELECT count(*) FROM"
               " (SELECT ranges.id AS range, series, count(*) AS rows FROM ranges"
               "  JOIN records ON records.id BETWEEN ranges.first_id AND ranges.last_id GROUP BY 1, 2) AS counted"
               " FULL JOIN postings USING (range, series) WHERE counted.rows IS NOT postings.records"),
           0);
}

/* Expects the loop's tables to have the same columns as the daemon's. */
static void check_tables(sqlite3 *database, const char *other) {
    sqlite3_stmt *attach = prepare(database, "ATTACH ?1 AS other");
    sqlite3_bind_text(attach, 1, other, -1, SQLITE_STATIC);
    run_statement(attach);
    expect("tables and columns that only the loop or only the daemon has",
           integer(
               database,
               "WITH ours AS (SELECT m.name AS t, c.*"
               "  FROM other.sqlite_schema AS m, pragma_table_info(m.name, 'other') AS c WHERE m.type = 'table'),"
               " theirs AS (SELECT m.name AS t, c.*"
               "  FROM main.sqlite_schema AS m, pragma_table_info(m.name, 'main') AS c"
               "  WHERE m.type = 'table' AND m.name IN (SELECT t FROM ours))"
               " SELECT (SELECT count(*) FROM (SELECT * FROM ours EXCEPT SELECT * FROM theirs))"
               " + (SELECT count(*) FROM (SELECT * FROM theirs EXCEPT SELECT * FROM ours))"),
           0);
    run_sql(database, "DETACH other");
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4 && argument_count != 5) {
        fputs("usage: check DATABASE RECORDS SERIES [DATABASE-OF-THE-LOOP]\n", stderr);
        return 64;
    }
    sqlite3 *database = open_database(arguments[1]);
    read_blocks(database);
    check_records(database, strtoll(arguments[2], NULL, 10), strtoll(arguments[3], NULL, 10));
    check_ranges(database);
    if (argument_count == 5) check_tables(database, arguments[4]);
    close_database(database);
    return faults > 0 ? 1 : 0;
}

/* The loop that the daemon is compared with. One thread inserts the daemon's own rows
   as fast as it can, with one bind and one step each. No socket, no JSON, no series
   lookup, no receipt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "failure.h"
#include "loop.h"
#include "open_range.h"
#include "rows.h"

/* ROW_OVERHEAD is what the daemon adds to the text of a row to estimate its size;
   RECEIVED is the fate of a received record. */
enum { ROW_OVERHEAD = 32, RECEIVED = 7 };

static const char tables[] =
    "CREATE TABLE records (id INTEGER PRIMARY KEY, series INTEGER NOT NULL, process INTEGER NOT NULL,"
    " received_at INTEGER NOT NULL, occurred INTEGER, first_occurred INTEGER, count INTEGER NOT NULL, message ANY,"
    " metadata TEXT, details TEXT) STRICT;"
    "CREATE TABLE ledger (destination INTEGER NOT NULL, account INTEGER NOT NULL, fate INTEGER NOT NULL,"
    " records INTEGER NOT NULL, occurrences INTEGER NOT NULL, PRIMARY KEY (destination, account, fate))"
    " STRICT, WITHOUT ROWID;";

struct inserter {
    sqlite3_stmt *begin, *commit, *insert, *add_to_ledger;
    struct open_range *range;
    int64_t records[APPLICATIONS], occurrences[APPLICATIONS];
};

static struct inserter make_inserter(sqlite3 *database, uint32_t series_count) {
    run_sql(database, tables);
    return (struct inserter){
        .begin = prepare(database, "BEGIN IMMEDIATE"),
        .commit = prepare(database, "COMMIT"),
        .insert = prepare(
            database,
            "INSERT INTO records (id, series, process, received_at, occurred, first_occurred, count, message,"
            " metadata, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
        .add_to_ledger = prepare(
            database,
            "INSERT INTO ledger (destination, account, fate, records, occurrences) VALUES (?1, ?2, ?3, ?4, ?5)"
            " ON CONFLICT DO UPDATE SET records = records + ?4, occurrences = occurrences + ?5"),
        .range = make_open_range(database, series_count),
    };
}

static void insert_row(struct inserter *inserter, const struct row *row, int64_t received_at) {
    sqlite3_stmt *insert = inserter->insert;
    sqlite3_bind_int64(insert, 1, next_id(inserter->range));
    sqlite3_bind_int64(insert, 2, row->series);
    sqlite3_bind_int64(insert, 3, row->process);
    sqlite3_bind_int64(insert, 4, received_at);
    sqlite3_bind_int64(insert, 5, row->occurred);
    sqlite3_bind_int64(insert, 7, row->count);
    sqlite3_bind_blob(insert, 8, row->parts, (int)row->parts_length, SQLITE_STATIC);
    sqlite3_bind_text(insert, 9, row->metadata, (int)row->metadata_length, SQLITE_STATIC);
    run_statement(insert);
    range_append(
        inserter->range, (uint32_t)row->series, received_at, row->count,
        row->parts_length + row->metadata_length + ROW_OVERHEAD);
    inserter->records[row->application]++;
    inserter->occurrences[row->application] += row->count;
}

static void write_ledger(struct inserter *inserter) {
    for (int application = 0; application < APPLICATIONS; application++) {
        if (inserter->records[application] == 0) continue;
        sqlite3_stmt *statement = inserter->add_to_ledger;
        sqlite3_bind_int64(statement, 1, 0);
        sqlite3_bind_int64(statement, 2, application + 1);
        sqlite3_bind_int64(statement, 3, RECEIVED);
        sqlite3_bind_int64(statement, 4, inserter->records[application]);
        sqlite3_bind_int64(statement, 5, inserter->occurrences[application]);
        run_statement(statement);
    }
    memset(inserter->records, 0, sizeof inserter->records);
    memset(inserter->occurrences, 0, sizeof inserter->occurrences);
}

static void insert_batch(struct inserter *inserter, const struct row *rows, uint32_t count) {
    int64_t received_at = nanoseconds_of(CLOCK_REALTIME) / 1000000;
    run_statement(inserter->begin);
    for (uint32_t index = 0; index < count; index++) insert_row(inserter, &rows[index], received_at);
    write_ledger(inserter);
    if (range_is_full(inserter->range)) close_range(inserter->range);
    run_statement(inserter->commit);
}

int main(int argument_count, char **arguments) {
    struct loop_options options = read_loop_options(argument_count, arguments);
    struct traffic traffic = make_traffic(options.series, options.distribution, options.seed);
    sqlite3 *database = make_database(options.database);
    struct inserter inserter = make_inserter(database, options.series);
    struct row *rows = malloc(options.batch * sizeof *rows);
    if (rows == NULL) fail("out of memory for the rows");

    uint64_t unmeasured = options.series + options.warm_up, all = unmeasured + options.records;
    struct stopwatch watch = {0};
    for (uint64_t made = 0; made < all;) {
        uint64_t left = (made < unmeasured ? unmeasured : all) - made;
        uint32_t count = left < options.batch ? (uint32_t)left : options.batch;
        // Making the rows is not measured.
        make_rows(rows, count, &traffic, made);
        if (made >= unmeasured) stopwatch_start(&watch);
        insert_batch(&inserter, rows, count);
        if (made >= unmeasured) stopwatch_stop(&watch);
        made += count;
    }
    print_loop_report(&options, watch);
    close_database(database);
    return 0;
}

#include "record_log.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "failure.h"
#include "loop.h"
#include "open_range.h"

/* ROW_OVERHEAD is what the daemon adds to the text of a row to estimate its size;
   RECEIVED is the fate of a received record. */
enum { ROW_OVERHEAD = 32, RECEIVED = 7 };

static const char tables[] =
    "CREATE TABLE ledger (destination INTEGER NOT NULL, account INTEGER NOT NULL, fate INTEGER NOT NULL,"
    " records INTEGER NOT NULL, occurrences INTEGER NOT NULL, PRIMARY KEY (destination, account, fate))"
    " STRICT, WITHOUT ROWID;";

struct inserter {
    const struct record_log *log;
    sqlite3_stmt *begin, *commit, *add_to_ledger;
    struct open_range *range;
    int64_t records[APPLICATIONS], occurrences[APPLICATIONS];
};

static struct inserter make_inserter(sqlite3 *database, uint32_t series_count, const struct record_log *log) {
    run_sql(database, tables);
    log->create(database);
    return (struct inserter){
        .log = log,
        .begin = prepare(database, "BEGIN IMMEDIATE"),
        .commit = prepare(database, "COMMIT"),
        .add_to_ledger = prepare(
            database,
            "INSERT INTO ledger (destination, account, fate, records, occurrences) VALUES (?1, ?2, ?3, ?4, ?5)"
            " ON CONFLICT DO UPDATE SET records = records + ?4, occurrences = occurrences + ?5"),
        .range = make_open_range(database, series_count),
    };
}

static void count_row(struct inserter *inserter, const struct row *row, int64_t received_at) {
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
    inserter->log->store(rows, count, next_id(inserter->range), received_at);
    for (uint32_t index = 0; index < count; index++) count_row(inserter, &rows[index], received_at);
    write_ledger(inserter);
    if (range_is_full(inserter->range)) close_range(inserter->range);
    run_statement(inserter->commit);
}

int run_loop(int argument_count, char **arguments, const struct record_log *log) {
    struct loop_options options = read_loop_options(argument_count, arguments);
    struct traffic traffic = make_traffic(options.series, options.distribution, options.seed);
    sqlite3 *database = make_database(options.database);
    struct inserter inserter = make_inserter(database, options.series, log);
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

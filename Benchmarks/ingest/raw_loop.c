/* A simple implementation, for comparison: one thread stores the JSON of each record
   unchanged, in batches, with an index by event id and one by group. There is no
   socket. */
#include <stdio.h>
#include <stdlib.h>

#include "database.h"
#include "failure.h"
#include "loop.h"
#include "traffic.h"

static const char tables[] =
    "CREATE TABLE records (id INTEGER PRIMARY KEY, event_id BLOB NOT NULL, group_id INTEGER NOT NULL,"
    " received_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT;"
    "CREATE UNIQUE INDEX records_by_event ON records (event_id);"
    "CREATE INDEX records_by_group ON records (group_id, id);";

enum { EVENT_ID_BYTES = 16 };

struct raw_row {
    uint32_t group;
    uint32_t length;
    unsigned char event_id[EVENT_ID_BYTES];
    char *record;
};

/* Makes a UUID of version 7. It begins with the time, so each new one is appended at
   the end of its index. */
static void make_event_id(unsigned char id[EVENT_ID_BYTES], int64_t milliseconds, struct randomness *randomness) {
    for (int index = 0; index < 6; index++) id[index] = (unsigned char)(milliseconds >> (40 - 8 * index));
    uint64_t first = next_random(randomness), second = next_random(randomness);
    id[6] = (unsigned char)(0x70 | (first & 0x0F));
    id[7] = (unsigned char)(first >> 8);
    id[8] = (unsigned char)(0x80 | (second & 0x3F));
    for (int index = 9; index < EVENT_ID_BYTES; index++) id[index] = (unsigned char)(second >> (8 * (index - 8)));
}

static void make_raw_rows(struct raw_row *rows, uint32_t count, struct traffic *traffic, uint64_t made_before) {
    int64_t milliseconds = nanoseconds_of(CLOCK_REALTIME) / 1000000;
    char time[TIME_WIDTH];
    write_time(time, milliseconds);
    for (uint32_t index = 0; index < count; index++, made_before++) {
        struct raw_row *row = &rows[index];
        row->group = made_before < traffic->series_count ? (uint32_t)made_before : next_series(traffic);
        make_event_id(row->event_id, milliseconds, &traffic->randomness);
        const struct text *text = &traffic->series[row->group].record;
        row->length = (uint32_t)(write_text(row->record, text, time, &traffic->randomness) - row->record);
    }
}

int main(int argument_count, char **arguments) {
    struct loop_options options = read_loop_options(argument_count, arguments);
    struct traffic traffic = make_traffic(options.series, options.distribution, options.seed);
    sqlite3 *database = make_database(options.database);
    run_sql(database, tables);
    sqlite3_stmt *begin = prepare(database, "BEGIN IMMEDIATE"), *commit = prepare(database, "COMMIT");
    sqlite3_stmt *insert = prepare(
        database, "INSERT INTO records (event_id, group_id, received_at, record) VALUES (?1, ?2, ?3, ?4)");

    uint32_t longest = longest_record(&traffic);
    struct raw_row *rows = calloc(options.batch, sizeof *rows);
    char *records = malloc((size_t)options.batch * longest);
    if (rows == NULL || records == NULL) fail("out of memory for the rows");
    for (uint32_t index = 0; index < options.batch; index++) rows[index].record = records + (size_t)index * longest;

    uint64_t unmeasured = options.series + options.warm_up, all = unmeasured + options.records;
    struct stopwatch watch = {0};
    for (uint64_t made = 0; made < all;) {
        uint64_t left = (made < unmeasured ? unmeasured : all) - made;
        uint32_t count = left < options.batch ? (uint32_t)left : options.batch;
        make_raw_rows(rows, count, &traffic, made);
        if (made >= unmeasured) stopwatch_start(&watch);
        int64_t received_at = nanoseconds_of(CLOCK_REALTIME) / 1000000;
        run_statement(begin);
        for (uint32_t index = 0; index < count; index++) {
            sqlite3_bind_blob(insert, 1, rows[index].event_id, EVENT_ID_BYTES, SQLITE_STATIC);
            sqlite3_bind_int64(insert, 2, rows[index].group);
            sqlite3_bind_int64(insert, 3, received_at);
            sqlite3_bind_text(insert, 4, rows[index].record, (int)rows[index].length, SQLITE_STATIC);
            run_statement(insert);
        }
        run_statement(commit);
        if (made >= unmeasured) stopwatch_stop(&watch);
        made += count;
    }
    print_loop_report(&options, watch);
    close_database(database);
    return 0;
}

#include "open_range.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "failure.h"

/* As in Sources/IssueStore/Schema/Schema.swift; `check` compares them with the daemon's. */
static const char tables[] =
    "CREATE TABLE ranges (id INTEGER PRIMARY KEY, first_id INTEGER NOT NULL, last_id INTEGER NOT NULL,"
    " first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, records INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;"
    "CREATE TABLE postings (range INTEGER NOT NULL, series INTEGER NOT NULL, records INTEGER NOT NULL,"
    " first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, previous INTEGER, ids BLOB NOT NULL,"
    " bytes INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (range, series)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE shares (range INTEGER NOT NULL, uid INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " PRIMARY KEY (range, uid)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE totals (series INTEGER PRIMARY KEY, last_range INTEGER NOT NULL, records INTEGER NOT NULL,"
    " occurrences INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE counts (minute INTEGER NOT NULL, series INTEGER NOT NULL, records INTEGER NOT NULL,"
    " occurrences INTEGER NOT NULL, PRIMARY KEY (minute, series)) STRICT, WITHOUT ROWID;";

/* The difference of two ids in a range takes at most three bytes. */
enum { ID_BYTES = 3 };

struct open_range *make_open_range(sqlite3 *database, uint32_t series_count) {
    run_sql(database, tables);
    struct open_range *range = calloc(1, sizeof *range);
    if (range == NULL) fail("out of memory for the open range");
    range->postings = calloc(series_count + 1, sizeof *range->postings);
    range->ids = malloc((size_t)RANGE_CAPACITY * ID_BYTES);
    if (range->postings == NULL || range->ids == NULL) fail("out of memory for the open range");
    range->id = 1;
    range->first_id = 1;
    range->series_count = series_count;
    range->insert_range = prepare(
        database,
        "INSERT INTO ranges (id, first_id, last_id, first_at, last_at, records, bytes)"
        " SELECT ?1, ?2, ?3, coalesce(min(first_at), 0), coalesce(max(last_at), 0), coalesce(sum(records), 0), ?4"
        " FROM postings WHERE range = ?1");
    range->insert_posting = prepare(
        database,
        "INSERT INTO postings (range, series, records, first_at, last_at, previous, ids, bytes)"
        " VALUES (?1, ?2, ?3, ?4, ?5, (SELECT last_range FROM totals WHERE series = ?2), ?6, ?7)");
    range->insert_share = prepare(database, "INSERT INTO shares (range, uid, bytes) VALUES (?1, 0, ?2)");
    range->add_to_total = prepare(
        database,
        "INSERT INTO totals (series, last_range, records, occurrences, first_at, last_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET last_range = ?2, records = records + ?3,"
        " occurrences = occurrences + ?4, first_at = min(first_at, ?5), last_at = max(last_at, ?6)");
    range->add_to_count = prepare(
        database,
        "INSERT INTO counts (minute, series, records, occurrences) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT DO UPDATE SET records = records + ?3, occurrences = occurrences + ?4");
    return range;
}

static void add_minute(struct posting *posting, int64_t minute, int64_t count) {
    struct minute *last = posting->minute_count > 0 ? &posting->minutes[posting->minute_count - 1] : NULL;
    if (last == NULL || last->minute != minute) {
        if (posting->minute_count == MINUTES) fail("a range took more than %d minutes", MINUTES);
        last = &posting->minutes[posting->minute_count++];
        *last = (struct minute){.minute = minute};
    }
    last->records++;
    last->occurrences += count;
}

/* Assigns each series a part of `ids` that is large enough for its records. */
static void reserve_bytes(struct open_range *range) {
    memset(range->postings, 0, (range->series_count + 1) * sizeof *range->postings);
    for (uint32_t index = 0; index < range->count; index++) range->postings[range->series[index]].records++;
    uint32_t byte = 0;
    for (uint32_t series = 1; series <= range->series_count; series++) {
        struct posting *posting = &range->postings[series];
        posting->first_byte = byte;
        posting->previous_id = range->first_id;
        byte += (uint32_t)posting->records * ID_BYTES;
    }
}

static void build_postings(struct open_range *range) {
    reserve_bytes(range);
    for (uint32_t index = 0; index < range->count; index++) {
        struct posting *posting = &range->postings[range->series[index]];
        int64_t id = range->first_id + index, at = range->received_at[index];
        unsigned char *byte = range->ids + posting->first_byte + posting->byte_count;
        uint64_t difference = (uint64_t)(id - posting->previous_id);
        for (; difference >= 0x80; difference >>= 7) *byte++ = (unsigned char)(difference | 0x80);
        *byte++ = (unsigned char)difference;
        posting->byte_count = (uint32_t)(byte - range->ids) - posting->first_byte;
        posting->previous_id = id;
        posting->occurrences += range->counts[index];
        posting->bytes += range->sizes[index];
        if (posting->first_at == 0 || at < posting->first_at) posting->first_at = at;
        if (at > posting->last_at) posting->last_at = at;
        add_minute(posting, at / 60000, range->counts[index]);
    }
}

static void bind_integers(sqlite3_stmt *statement, const int64_t *values, int count) {
    for (int index = 0; index < count; index++) sqlite3_bind_int64(statement, index + 1, values[index]);
}

static void write_posting(struct open_range *range, int64_t series, const struct posting *posting) {
    int64_t first[] = {range->id, series, posting->records, posting->first_at, posting->last_at};
    bind_integers(range->insert_posting, first, 5);
    sqlite3_bind_blob(
        range->insert_posting, 6, range->ids + posting->first_byte, (int)posting->byte_count, SQLITE_STATIC);
    sqlite3_bind_int64(range->insert_posting, 7, posting->bytes);
    run_statement(range->insert_posting);

    int64_t total[] = {
        series, range->id, posting->records, posting->occurrences, posting->first_at, posting->last_at,
    };
    bind_integers(range->add_to_total, total, 6);
    run_statement(range->add_to_total);

    for (uint32_t index = 0; index < posting->minute_count; index++) {
        const struct minute *minute = &posting->minutes[index];
        int64_t count[] = {minute->minute, series, minute->records, minute->occurrences};
        bind_integers(range->add_to_count, count, 4);
        run_statement(range->add_to_count);
    }
}

void close_range(struct open_range *range) {
    build_postings(range);
    for (uint32_t series = 1; series <= range->series_count; series++) {
        if (range->postings[series].records > 0) write_posting(range, series, &range->postings[series]);
    }
    int64_t share[] = {range->id, range->byte_count};
    bind_integers(range->insert_share, share, 2);
    run_statement(range->insert_share);
    int64_t values[] = {range->id, range->first_id, next_id(range) - 1, range->byte_count};
    bind_integers(range->insert_range, values, 4);
    run_statement(range->insert_range);

    range->id++;
    range->first_id = next_id(range);
    range->count = 0;
    range->byte_count = 0;
}

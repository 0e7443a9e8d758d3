#ifndef OPEN_RANGE_H
#define OPEN_RANGE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { RANGE_RECORDS = 65536, RANGE_CAPACITY = 2 * RANGE_RECORDS, MINUTES = 16 };

/* The counts of one series in one minute of a range. */
struct minute {
    int64_t minute;
    int64_t records;
    int64_t occurrences;
};

/* The posting list and counts of one series in a range. */
struct posting {
    int64_t records;
    int64_t occurrences;
    int64_t bytes;
    int64_t first_at;
    int64_t last_at;
    int64_t previous_id;
    uint32_t first_byte;
    uint32_t byte_count;
    uint32_t minute_count;
    struct minute minutes[MINUTES];
};

/* The range of ids that is being filled, as in the daemon (OpenRange). Posting lists
   and counts are written once, when the range is full. */
struct open_range {
    int64_t id;
    int64_t first_id;
    int64_t byte_count;
    uint32_t count;
    uint32_t series_count;
    uint32_t series[RANGE_CAPACITY];
    int64_t received_at[RANGE_CAPACITY];
    int64_t counts[RANGE_CAPACITY];
    uint32_t sizes[RANGE_CAPACITY];
    struct posting *postings;
    unsigned char *ids;
    sqlite3_stmt *insert_range, *insert_posting, *insert_share, *add_to_total, *add_to_count;
};

/* Creates the tables for ranges, and an empty range. */
struct open_range *make_open_range(sqlite3 *database, uint32_t series_count);

static inline int64_t next_id(const struct open_range *range) {
    return range->first_id + range->count;
}

/* Adds the record with the next id to the range. */
static inline void range_append(
    struct open_range *range, uint32_t series, int64_t received_at, int64_t count, int64_t bytes) {
    range->series[range->count] = series;
    range->received_at[range->count] = received_at;
    range->counts[range->count] = count;
    range->sizes[range->count] = (uint32_t)bytes;
    range->count++;
    range->byte_count += bytes;
}

static inline bool range_is_full(const struct open_range *range) {
    return range->count >= RANGE_RECORDS || range->byte_count >= 16 << 20;
}

/* Writes the range within the open transaction, and begins the next one. */
void close_range(struct open_range *range);

#endif

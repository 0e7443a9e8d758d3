#include "rows.h"

/* The number of connections of the generator. */
enum { PROCESSES = 4 };

static void make_row(struct row *row, uint32_t number, struct traffic *traffic) {
    uint64_t random = next_random(&traffic->randomness);
    row->series = (int64_t)number + 1;
    row->process = (int64_t)(random % PROCESSES) + 1;
    // The time from the occurrence of a record to its receipt, negated, in milliseconds.
    row->occurred = -(int64_t)(random >> 60);
    row->count = 1;
    row->application = traffic->series[number].application;
    row->parts_length = (uint32_t)(write_text(row->parts, &traffic->parts, NULL, &traffic->randomness) - row->parts);
    row->metadata_length =
        (uint32_t)(write_text(row->metadata, &traffic->metadata, NULL, &traffic->randomness) - row->metadata);
}

void make_rows(struct row *rows, uint32_t count, struct traffic *traffic, uint64_t made_before) {
    for (uint32_t index = 0; index < count; index++, made_before++) {
        uint32_t number = made_before < traffic->series_count ? (uint32_t)made_before : next_series(traffic);
        make_row(&rows[index], number, traffic);
    }
}

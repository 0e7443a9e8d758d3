#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "traffic.h"

/* The records to send and the results so far, over all connections. */
struct load {
    struct traffic traffic;
    uint32_t records_per_call;
    bool is_numbered;
    /* The number of series that were sent so far. Each series is sent once, then series are chosen at random. */
    uint32_t sent_series;

    uint64_t unsent;
    uint64_t in_flight;

    uint64_t stored;
    uint64_t rejected;
    uint64_t duplicates;
    /* Records of calls whose reply was an error or had the wrong number of receipts. */
    uint64_t refused;
    char first_refusal[256];
    uint64_t bytes_sent;
    struct histogram latency;

    /* The time of the wall clock as text; updated when its milliseconds change. */
    char time[TIME_WIDTH];
    int64_t time_milliseconds;
};

/* Returns the number of records in the next call. */
static inline uint32_t next_call_size(const struct load *load) {
    return load->unsent < load->records_per_call ? (uint32_t)load->unsent : load->records_per_call;
}

#endif

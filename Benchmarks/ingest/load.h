#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "traffic.h"

/* What is to be sent, and what was answered, over all connections. */
struct load {
    struct traffic traffic;
    uint32_t records_a_call;
    bool is_numbered;
    /* The series that each came once; from then on they come by chance. */
    uint32_t introduced;

    uint64_t unsent;
    uint64_t in_flight;

    uint64_t stored;
    uint64_t rejected;
    uint64_t duplicates;
    /* Records of calls that were answered with an error, or not as agreed. */
    uint64_t refused;
    char first_refusal[256];
    uint64_t bytes_sent;
    struct histogram latency;

    /* The wall clock, written once for each time that it has moved on. */
    char time[TIME_WIDTH];
    int64_t time_milliseconds;
};

/* How many records the next call carries. */
static inline uint32_t next_call_size(const struct load *load) {
    return load->unsent < load->records_a_call ? (uint32_t)load->unsent : load->records_a_call;
}

#endif

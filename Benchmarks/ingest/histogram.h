#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_BUCKETS = 58 * HISTOGRAM_STEPS + HISTOGRAM_STEPS };

/* A histogram of latencies, accurate to 2 %. */
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    int64_t longest;
};

/* Counts a latency in nanoseconds for `receipts` receipts. */
void histogram_add(struct histogram *histogram, int64_t nanoseconds, uint32_t receipts);

/* Returns the latency in milliseconds that this share of all receipts did not exceed. */
double histogram_milliseconds(const struct histogram *histogram, double share);

#endif

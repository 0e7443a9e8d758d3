#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_BUCKETS = 58 * HISTOGRAM_STEPS + HISTOGRAM_STEPS };

/* How often which latency was seen, to within two parts in a hundred. */
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    int64_t longest;
};

/* Counts a latency in nanoseconds, for so many receipts. */
void histogram_add(struct histogram *histogram, int64_t nanoseconds, uint32_t receipts);

/* The latency in milliseconds that this share of all receipts did not exceed. */
double histogram_milliseconds(const struct histogram *histogram, double share);

#endif

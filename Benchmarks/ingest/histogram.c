#include "histogram.h"

/* The first HISTOGRAM_STEPS buckets have a width of 1. After them, each power of two
   is divided into HISTOGRAM_STEPS buckets. */
static uint32_t bucket_of(uint64_t value) {
    if (value < HISTOGRAM_STEPS) return (uint32_t)value;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - 6;
    return (shift + 1) * HISTOGRAM_STEPS + (uint32_t)(value >> shift) - HISTOGRAM_STEPS;
}

static uint64_t end_of(uint32_t bucket) {
    if (bucket < HISTOGRAM_STEPS) return bucket + 1;
    uint32_t shift = bucket / HISTOGRAM_STEPS - 1;
    return (uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS + 1) << shift;
}

void histogram_add(struct histogram *histogram, int64_t nanoseconds, uint32_t receipts) {
    if (nanoseconds < 0) nanoseconds = 0;
    histogram->counts[bucket_of((uint64_t)nanoseconds)] += receipts;
    histogram->total += receipts;
    if (nanoseconds > histogram->longest) histogram->longest = nanoseconds;
}

double histogram_milliseconds(const struct histogram *histogram, double share) {
    if (share >= 1 || histogram->total == 0) return (double)histogram->longest / 1e6;
    uint64_t wanted = (uint64_t)(share * (double)histogram->total);
    uint64_t seen = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen <= wanted) continue;
        int64_t end = (int64_t)end_of(bucket);
        return (double)(end < histogram->longest ? end : histogram->longest) / 1e6;
    }
    return (double)histogram->longest / 1e6;
}

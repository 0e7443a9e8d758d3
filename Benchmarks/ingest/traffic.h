#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum { APPLICATIONS = 12, MOST_SERIES = 5000 };

/* All records that are alike but for numbers, as a client sends them: one JSON
   object of 572 bytes on average. */
struct series {
    struct text record;
    uint32_t application;
};

/* Which records come, in which order: the same for the same seed. */
struct traffic {
    struct series *series;
    uint32_t series_count;
    /* Of a record, as the daemon stores it: what the placeholders in the message
       stand for, and the metadata. The same for all series. */
    struct text parts;
    struct text metadata;
    /* Zipf's distribution as a table to look a random number up in; NULL where
       each series is as frequent as the others. */
    uint16_t *ranks;
    struct randomness randomness;
};

/* Makes the texts of all series. The distribution is "zipf" or "uniform". */
struct traffic make_traffic(uint32_t series_count, const char *distribution, uint64_t seed);

/* The number of the series that the next record belongs to. */
static inline uint32_t next_series(struct traffic *traffic) {
    uint64_t random = next_random(&traffic->randomness);
    if (traffic->ranks != NULL) return traffic->ranks[random >> 48];
    return (uint32_t)((random >> 32) * traffic->series_count >> 32);
}

/* The size of the largest record. */
uint32_t longest_record(const struct traffic *traffic);

#endif

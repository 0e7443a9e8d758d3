#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum { APPLICATIONS = 12, MAX_SERIES = 5000 };

/* The text of all records of a series, as a client sends them: a JSON object of 572
   bytes on average. Records of a series differ only in numbers, ids and times. */
struct series {
    struct text record;
    uint32_t application;
};

/* The sequence of records. Equal seeds give equal sequences. */
struct traffic {
    struct series *series;
    uint32_t series_count;
    /* The values of the message's placeholders, and the metadata, as the daemon stores
       them. They are the same for all series. */
    struct text parts;
    struct text metadata;
    /* The lookup table of Zipf's distribution, by random number; NULL if all series
       are equally frequent. */
    uint16_t *ranks;
    struct randomness randomness;
};

/* Makes the texts of all series. The distribution is "zipf" or "uniform". */
struct traffic make_traffic(uint32_t series_count, const char *distribution, uint64_t seed);

/* Returns the number of the series of the next record. */
static inline uint32_t next_series(struct traffic *traffic) {
    uint64_t random = next_random(&traffic->randomness);
    if (traffic->ranks != NULL) return traffic->ranks[random >> 48];
    return (uint32_t)((random >> 32) * traffic->series_count >> 32);
}

/* Returns the size of the largest record in bytes. */
uint32_t longest_record(const struct traffic *traffic);

#endif

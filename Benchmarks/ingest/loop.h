#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>

#include "stopwatch.h"

/* The options of the loops that insert without a daemon. */
struct loop_options {
    const char *database;
    const char *distribution;
    uint32_t series;
    uint32_t batch;
    uint64_t records;
    uint64_t warm_up;
    uint64_t seed;
};

struct loop_options read_loop_options(int argument_count, char **arguments);

/* Prints the results as JSON. */
void print_loop_report(const struct loop_options *options, struct stopwatch watch);

#endif

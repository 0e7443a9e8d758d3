#ifndef ROWS_H
#define ROWS_H

#include <stdint.h>

#include "traffic.h"

enum { PARTS_CAPACITY = 32, METADATA_CAPACITY = 128 };

/* A row of the daemon's table of records, without its id and the time of its commit. */
struct row {
    int64_t series;
    int64_t process;
    int64_t occurred;
    int64_t count;
    uint32_t application;
    uint32_t parts_length;
    uint32_t metadata_length;
    char parts[PARTS_CAPACITY];
    char metadata[METADATA_CAPACITY];
};

/* Makes the next rows of the traffic. The traffic begins with one row of each series. `made_before` is the number of
   rows made so far. */
void make_rows(struct row *rows, uint32_t count, struct traffic *traffic, uint64_t made_before);

#endif

#ifndef BODIES_H
#define BODIES_H

#include <stdint.h>

/* Stands before each body in the file of the listener; `answered_at` is of the monotonic clock, in nanoseconds. */
struct body_head {
    uint64_t length;
    int64_t answered_at;
    int64_t is_compressed;
};

#endif

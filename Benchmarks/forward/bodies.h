#ifndef BODIES_H
#define BODIES_H

#include <stdint.h>

/* The header before each body in the listener's file. `answered_at` is a time of the monotonic clock, in nanoseconds. */
struct body_head {
    uint64_t length;
    int64_t answered_at;
    int64_t is_compressed;
};

#endif

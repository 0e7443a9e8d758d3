#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>
#include <time.h>

/* Elapsed time and processor time of this program, in nanoseconds, summed over all
   intervals between a start and a stop. */
struct stopwatch {
    int64_t wall;
    int64_t processor;
};

static inline int64_t nanoseconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t monotonic_now(void) {
    return nanoseconds_of(CLOCK_MONOTONIC);
}

static inline void stopwatch_start(struct stopwatch *watch) {
    watch->wall -= monotonic_now();
    watch->processor -= nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static inline void stopwatch_stop(struct stopwatch *watch) {
    watch->wall += monotonic_now();
    watch->processor += nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double in_seconds(int64_t nanoseconds) {
    return (double)nanoseconds / 1e9;
}

#endif

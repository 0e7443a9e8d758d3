/* A wall clock that can be set while the program runs. Other clocks are unchanged. */

#include <time.h>

#include "faults.h"

static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find_functions(void) {
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))faults_real("clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    /* May be called before the constructor of this library has run. */
    if (real_clock_gettime == NULL) find_functions();
    int code = real_clock_gettime(clock, time);
    if (code != 0 || clock != CLOCK_REALTIME || faults == NULL) return code;
    int64_t offset = __atomic_load_n(&faults->clock_offset, __ATOMIC_ACQUIRE);
    time->tv_sec += offset / 1000;
    time->tv_nsec += offset % 1000 * 1000000;
    if (time->tv_nsec < 0) {
        time->tv_sec -= 1;
        time->tv_nsec += 1000000000;
    } else if (time->tv_nsec >= 1000000000) {
        time->tv_sec += 1;
        time->tv_nsec -= 1000000000;
    }
    return code;
}

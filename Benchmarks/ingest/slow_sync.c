/* A library to preload. It makes each sync of a program take longer, as on a slower
   disk, by the number of microseconds in SLOW_SYNC_MICROSECONDS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int sync_function(int descriptor);

static void wait_longer(void) {
    const char *text = getenv("SLOW_SYNC_MICROSECONDS");
    long microseconds = text == NULL ? 0 : strtol(text, NULL, 10);
    if (microseconds <= 0) return;
    struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
    int error = errno;
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
    errno = error;
}

static int sync_with(const char *name, int descriptor) {
    // ISO C cannot convert an object pointer to a function pointer; POSIX suggests this assignment.
    sync_function *real;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    int result = real(descriptor);
    wait_longer();
    return result;
}

int fsync(int descriptor) {
    return sync_with("fsync", descriptor);
}

int fdatasync(int descriptor) {
    return sync_with("fdatasync", descriptor);
}

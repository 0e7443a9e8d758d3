#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

const char *clinux_error_name(int error) {
    return strerrorname_np(error);
}

const char *clinux_error_text(int error) {
    return strerrordesc_np(error);
}

int clinux_pipe(int *reader, int *writer) {
    int descriptors[2];
    if (pipe2(descriptors, O_CLOEXEC) == -1) return -1;
    *reader = descriptors[0];
    *writer = descriptors[1];
    return 0;
}

int clinux_set_non_blocking(int descriptor, int on) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags == -1) return -1;
    int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return wanted == flags ? 0 : fcntl(descriptor, F_SETFL, wanted);
}

int clinux_duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

int clinux_terminal_columns(int descriptor) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == -1) return -1;
    return size.ws_col;
}

int clinux_terminal_rows(int descriptor) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == -1) return -1;
    return size.ws_row;
}

int clinux_open(const char *path, int flags, mode_t mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int clinux_open_at(int folder, const char *name, int flags, mode_t mode) {
    return openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

int clinux_find_folder_at(int folder, const char *name) {
    return openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int clinux_is_privileged(void) {
    return getauxval(AT_SECURE) != 0;
}

const char *clinux_secure_variable(const char *name) {
    return secure_getenv(name);
}

int clinux_thread_id(void) {
    return (int)gettid();
}

int clinux_yield_to_others(int niceness) {
    // Linux applies this to the thread only; by POSIX, it would apply to the process.
    return setpriority(PRIO_PROCESS, (id_t)gettid(), niceness);
}

void clinux_keep_heaps_small(void) {
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

void clinux_return_free_memory(void) {
    malloc_trim(0);
}

int clinux_thread_start(
    unsigned long *thread, size_t stack_size, void *(*body)(void *), void *context) {
    // A blocked SIGSEGV kills the process without running its handler, so a crash report would be lost. SIGABRT,
    // SIGPROF and real-time signals are blocked only if the calling thread blocks them: the application and the crash
    // handler of the Swift runtime use them.
    static const int unblocked[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    blocked = before;
    for (int number = 1; number < 32; number++) {
        if (number != SIGABRT && number != SIGPROF) sigaddset(&blocked, number);
    }
    for (size_t index = 0; index < sizeof unblocked / sizeof *unblocked; index++) {
        sigdelset(&blocked, unblocked[index]);
    }

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, stack_size);
        if (error == 0) {
            // The new thread inherits the mask, so it never runs with another one.
            pthread_sigmask(SIG_SETMASK, &blocked, NULL);
            error = pthread_create(thread, &attributes, body, context);
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        pthread_attr_destroy(&attributes);
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

int clinux_set_thread_name(const char *name) {
    errno = pthread_setname_np(pthread_self(), name);
    return errno == 0 ? 0 : -1;
}

ssize_t clinux_random(void *bytes, size_t count) {
    return getrandom(bytes, count, 0);
}

int clinux_set_dumpable(int on) {
    return prctl(PR_SET_DUMPABLE, on ? 1 : 0, 0, 0, 0);
}

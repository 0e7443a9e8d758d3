/* The control file; see faults.h. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"

struct faults *faults;
static const char *own_files = "issues.db";
static int point_count;

static int64_t read_number(int64_t *number) {
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static void write_number(int64_t *number, int64_t value) {
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
}

void *faults_real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        fprintf(stderr, "faults: there is no %s\n", name);
        abort();
    }
    return function;
}

/* Uses system calls directly, because this library replaces the functions of the C library. */
static void map_control(void) {
    if (faults != NULL) return;
    const char *path = getenv("ISSUED_FAULTS");
    if (path == NULL || *path == '\0') return;
    const char *files = getenv("ISSUED_FAULTS_FILE");
    if (files != NULL && *files != '\0') own_files = files;
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (syscall(SYS_ftruncate, file, (long)sizeof(struct faults)) == 0) {
        long mapped = syscall(
            SYS_mmap, 0L, (long)sizeof(struct faults), (long)(PROT_READ | PROT_WRITE), (long)MAP_SHARED, file, 0L);
        if (mapped > 0 || mapped < -4095) faults = (struct faults *)mapped;
    }
    syscall(SYS_close, file);
}

static int add_point(const char *name, const char *when) {
    map_control();
    if (faults == NULL) return 0;
    if (point_count == FAULTS_POINTS) {
        fprintf(stderr, "faults: there are more than %d points\n", FAULTS_POINTS);
        abort();
    }
    snprintf(faults->points[point_count].name, FAULTS_NAME_BYTES, "%s %s", when, name);
    return ++point_count;
}

struct faults_place faults_place(const char *name) {
    struct faults_place place;
    place.before = add_point(name, "before");
    place.after = add_point(name, "after");
    return place;
}

bool faults_is_ours(const char *path) {
    return faults != NULL && path != NULL && strstr(path, own_files) != NULL;
}

void faults_pass(int point) {
    if (faults == NULL || point == 0) return;
    __atomic_add_fetch(&faults->points[point - 1].passes, 1, __ATOMIC_RELAXED);
    if (read_number(&faults->point) != point) return;
    if (__atomic_sub_fetch(&faults->passes_left, 1, __ATOMIC_ACQ_REL) != 0) return;
    write_number(&faults->point_taken, point);
    write_number(&faults->point, 0);
    kill(getpid(), (int)read_number(&faults->signal));
    /* SIGKILL may take a moment. The thread waits for it, so that it does nothing more. */
    if (read_number(&faults->signal) == SIGKILL) {
        for (;;) pause();
    }
}

bool faults_fails(enum faults_kind kind) {
    if (faults == NULL) return false;
    __atomic_add_fetch(&faults->calls, 1, __ATOMIC_RELAXED);
    if (read_number(&faults->call_number) <= 0) return false;
    /* Counted down to 1 by calls that succeed. It stays 1 while calls fail. */
    if (read_number(&faults->call_number) > 1) {
        __atomic_sub_fetch(&faults->call_number, 1, __ATOMIC_ACQ_REL);
        return false;
    }
    if (__atomic_sub_fetch(&faults->failing_calls, 1, __ATOMIC_ACQ_REL) <= 0) write_number(&faults->call_number, 0);
    __atomic_add_fetch(&faults->failed_calls, 1, __ATOMIC_RELAXED);
    if (read_number(&faults->failed_kind) == FAULTS_NO_KIND) write_number(&faults->failed_kind, kind);
    errno = (int)read_number(&faults->error);
    return true;
}

/* The simulated disk for an unmodified program such as issued: a library that is
   preloaded and turns the folder of its database into a disk that fails.

       cc -shared -fPIC -DFAULTVFS_PRELOAD -o fault-vfs.so -ITests/FaultVFS/include Tests/FaultVFS/[a-z]*.c -lsqlite3
       FAULTVFS_FOLDER=/var/lib/issued FAULTVFS_SEED=1 FAULTVFS_CUT=sync:40 LD_PRELOAD=./fault-vfs.so issued …

   FAULTVFS_FOLDER  the folder, which must exist. If not set, the library does nothing.
   FAULTVFS_SEED    the seed of random decisions (default 1). The same seed and calls
                    give the same result.
   FAULTVFS_CUT     CALL:N: cut the power before the Nth of these calls. Unsynced data
                    is lost or torn, and the process dies as with kill -9.
   FAULTVFS_FAIL    CALL:N:FAULT[:on]: the Nth of these calls fails, and with `on`
                    all later ones too.
   FAULTVFS_LIMIT   the max total size of the files in the folder, in bytes. SIGUSR2
                    lifts the limit.

   CALL is read, write, sync, truncate, open, delete, size, lock, access, memory
   (shared memory), or all. FAULT is error, full or short (half is written).
   SIGKILL cuts the power as well: unsynced data exists only in the memory of the
   process, and all of it is lost. Other processes that read the database see only
   synced data, so they should wait until the process has ended. */
#ifdef FAULTVFS_PRELOAD
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "FaultVFS.h"

static int disk = -1;
static volatile sig_atomic_t has_room;

static void wrong(const char *name, const char *value) {
    fprintf(stderr, "FaultVFS: invalid %s: %s\n", name, value);
    _exit(64);
}

static int calls_named(const char *name, const char *value, const char *words, size_t length) {
    static const char *names[] = {"read",   "write", "sync", "truncate", "open", "delete",
                                  "size", "lock",  "access",   "memory"};
    if (length == 3 && strncmp(words, "all", 3) == 0) return FAULTVFS_ALL;
    for (size_t number = 0; number < sizeof names / sizeof *names; number++) {
        if (strlen(names[number]) == length && strncmp(words, names[number], length) == 0) return 1 << number;
    }
    wrong(name, value);
    return 0;
}

/* Parses CALL:N and returns the rest of the value. */
static const char *call_and_number(const char *name, const char *value, int *calls, long long *number) {
    const char *colon = strchr(value, ':');
    char *end = NULL;
    if (!colon) wrong(name, value);
    *calls = calls_named(name, value, value, (size_t)(colon - value));
    *number = strtoll(colon + 1, &end, 10);
    if (*number <= 0) wrong(name, value);
    return end;
}

static void make_room(int signal) {
    (void)signal;
    has_room = 1;
}

static void attach(void) {
    const char *folder = getenv("FAULTVFS_FOLDER");
    const char *seed = getenv("FAULTVFS_SEED");
    const char *cut = getenv("FAULTVFS_CUT");
    const char *fail = getenv("FAULTVFS_FAIL");
    const char *limit = getenv("FAULTVFS_LIMIT");
    int calls;
    long long number;
    if (!folder) return;
    disk = faultvfs_attach(folder, seed ? strtoull(seed, NULL, 10) : 1);
    faultvfs_cut_kills(disk);
    if (cut) {
        if (*call_and_number("FAULTVFS_CUT", cut, &calls, &number)) wrong("FAULTVFS_CUT", cut);
        faultvfs_cut(disk, calls, number);
    }
    if (fail) {
        const char *rest = call_and_number("FAULTVFS_FAIL", fail, &calls, &number);
        int fault = strncmp(rest, ":error", 6) == 0   ? FAULTVFS_ERROR
                    : strncmp(rest, ":full", 5) == 0  ? FAULTVFS_NO_SPACE
                    : strncmp(rest, ":short", 6) == 0 ? FAULTVFS_SHORT
                                                      : -1;
        if (fault < 0) wrong("FAULTVFS_FAIL", fail);
        faultvfs_fail(disk, calls, number, fault, strstr(rest, ":on") != NULL);
    }
    if (limit) {
        signal(SIGUSR2, make_room);
        faultvfs_limit(disk, strtoll(limit, NULL, 10));
    }
}

/* Called by vfs.c for each write, not in a signal handler. */
int faultvfs_has_room(void) { return has_room; }

/* Attaching initialises SQLite, so it waits until the program first opens a database: by
   then, the program has configured SQLite. */
int sqlite3_open_v2(const char *path, sqlite3 **database, int flags, const char *vfs) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static int (*open_under)(const char *, sqlite3 **, int, const char *);
    pthread_once(&once, attach);
    if (!open_under) *(void **)&open_under = dlsym(RTLD_NEXT, "sqlite3_open_v2");
    return open_under(path, database, flags, vfs);
}
#else
/* A program that attaches its own disks changes the limit instead. */
int faultvfs_has_room(void) { return 0; }
#endif

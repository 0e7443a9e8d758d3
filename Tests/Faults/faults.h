#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* A library to preload (LD_PRELOAD). It kills or stops an unmodified program at a
   chosen call of SQLite or of the system, or lets the call fail.

   ISSUED_FAULTS=PATH       the control file with the requested faults and the
                            counters. The test and the program share it. It is
                            created if it does not exist, and is kept across runs
                            of the program. If the variable is not set, or the
                            file can't be mapped, the library does nothing.
   ISSUED_FAULTS_FILE=NAME  only calls on files whose path contains this can fail;
                            default: "issues.db".

   The file contains the struct below, with numbers of 64 bits in native byte order.
   To request a fault, write its details first, and `point` or `call_number` last. */

#define FAULTS_POINTS 96
#define FAULTS_NAME_BYTES 56

struct faults_point {
    char name[FAULTS_NAME_BYTES];
    int64_t passes;
};

struct faults {
    /* Added to the wall clock, in milliseconds. */
    int64_t clock_offset;
    /* The number of the point at which the signal is sent, from 1; 0 for none. Sending it resets this to 0. */
    int64_t point;
    /* The number of passes until the signal is sent; 1 sends it at the next pass. */
    int64_t passes_left;
    int64_t signal;
    /* The number of the point at which the last signal was sent, from 1. */
    int64_t point_taken;
    /* The number of calls until one fails; 1 lets the next call fail, 0 none. */
    int64_t call_number;
    /* The number of consecutive calls that fail, and their errno. */
    int64_t failing_calls;
    int64_t error;
    /* The number of calls so far, and of failed calls. */
    int64_t calls;
    int64_t failed_calls;
    /* The kind of the first call that failed since the last request. */
    int64_t failed_kind;
    int64_t unused[5];
    struct faults_point points[FAULTS_POINTS];
};

/* Kinds of calls on files, the values of `failed_kind`. */
enum faults_kind {
    FAULTS_NO_KIND,
    FAULTS_OPEN,
    FAULTS_READ,
    FAULTS_WRITE,
    FAULTS_SYNC,
    FAULTS_TRUNCATE,
    FAULTS_MAP,
    FAULTS_UNLINK,
    FAULTS_STAT,
};

/* The mapped control file; NULL if there is none. */
extern struct faults *faults;

/* Returns whether calls on a file with this path can fail. */
bool faults_is_ours(const char *path);

/* The numbers of the two points around a call. */
struct faults_place {
    int before;
    int after;
};

/* Registers the points around a call. The name must stay valid, since it is not copied. */
struct faults_place faults_place(const char *name);

/* Called when the program passes a point. Sends the signal if it is due. */
void faults_pass(int point);

/* Returns the original of a function that this library replaces. */
void *faults_real(const char *name);

/* Counts a call on one of the files. Returns whether it must fail, with errno set. */
bool faults_fails(enum faults_kind kind);

#endif

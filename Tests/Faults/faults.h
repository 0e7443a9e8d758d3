#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* A library that is loaded in front of others (LD_PRELOAD) and has a program
   die, stop or fail at a chosen call of SQLite or of the system. The program
   itself knows nothing of it.

   ISSUED_FAULTS=PATH  a file that both sides map or read and write: what is
                       asked for, and what was seen. Without it, or where it
                       can't be mapped, nothing happens. It is made when it is
                       missing, and lasts from one run of the program to the next.
   ISSUED_FAULTS_FILE=NAME  files whose path holds this are those whose calls
                       may fail; "issues.db" if it is not set.

   The file holds the struct below: numbers of 64 bits in the machine's order.
   Whoever asks for something writes its details first, and `point` or
   `call_number` last. */

#define FAULTS_POINTS 96
#define FAULTS_NAME_BYTES 56

struct faults_point {
    char name[FAULTS_NAME_BYTES];
    int64_t passes;
};

struct faults {
    /* Added to the wall clock, in milliseconds. */
    int64_t clock_offset;
    /* The point at which the signal is sent, counted from 1; 0 is none. It goes back to 0 when it was sent. */
    int64_t point;
    /* How many passes are left: with 1 it is sent at the next. */
    int64_t passes_left;
    int64_t signal;
    /* The point at which one was sent last, counted from 1. */
    int64_t point_taken;
    /* Which call on one of the files fails, counted from now; 0 is none. */
    int64_t call_number;
    /* How many fail from there on, and with what. */
    int64_t failing_calls;
    int64_t error;
    /* How many calls there have been, and how many have failed. */
    int64_t calls;
    int64_t failed_calls;
    /* The kind of the first call that has failed since one was asked for. */
    int64_t failed_kind;
    int64_t unused[5];
    struct faults_point points[FAULTS_POINTS];
};

/* Kinds of calls on files, as `failed_kind` says them. */
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

/* What all share, or NULL where nothing is asked for. */
extern struct faults *faults;

/* Whether a path is one of those whose calls may fail. */
bool faults_is_ours(const char *path);

/* A place that can be asked for: one before a call and one after it. */
struct faults_place {
    int before;
    int after;
};

/* The numbers of a place; the name is kept, not copied. */
struct faults_place faults_place(const char *name);

/* The program passes a point. */
void faults_pass(int point);

/* The real one of a function that stands in front of it here. */
void *faults_real(const char *name);

/* Whether this call on one of the files fails; errno is set then. */
bool faults_fails(enum faults_kind kind);

#endif

#define _GNU_SOURCE
#include "CLinux.h"

#include <pthread.h>

// The number of threads that delay forks, and the number of threads waiting to fork. A waiting fork has priority, so
// that threads which are always busy cannot delay it forever.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int holders;
static int waiting;
static pthread_once_t has_handlers = PTHREAD_ONCE_INIT;

// The nesting depth of this thread's requests to delay forks.
static _Thread_local int depth;

static void enter(void) {
    pthread_mutex_lock(&lock);
    while (waiting > 0) pthread_cond_wait(&change, &lock);
    holders++;
    pthread_mutex_unlock(&lock);
}

static void leave(void) {
    pthread_mutex_lock(&lock);
    holders--;
    if (waiting > 0) pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

// 1 if this thread has asked to delay forks, otherwise 0. A thread that forks while it delays forks does not wait for
// itself.
static int own(void) { return depth > 0 ? 1 : 0; }

static void before_fork(void) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (holders > own()) pthread_cond_wait(&change, &lock);
}

static void after_fork(void) {
    waiting--;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void) {
    // The parent's waiting threads do not exist in the child.
    pthread_cond_t none = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    change = none;
    lock = unlocked;
    waiting = 0;
    holders = own();
}

static void add_handlers(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

void clinux_forks_hold(void) {
    if (depth == 0) {
        pthread_once(&has_handlers, add_handlers);
        enter();
    }
    depth++;
}

void clinux_forks_release(void) {
    depth--;
    if (depth == 0) leave();
}

void clinux_forks_admit(void) {
    if (depth > 0) leave();
}

void clinux_forks_hold_again(void) {
    if (depth > 0) enter();
}

#define _GNU_SOURCE
#include "CLinux.h"

#include <pthread.h>

// What a thread holds while a child would find its work half done.
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
// Who forks holds it while it waits, so that a thread that is always busy does
// not come before it again and again.
static pthread_mutex_t turnstile = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t has_handlers = PTHREAD_ONCE_INIT;

// How often this thread has asked to hold off forks.
static _Thread_local int depth;

static void take_work(void) {
    pthread_mutex_lock(&turnstile);
    pthread_mutex_lock(&work);
    pthread_mutex_unlock(&turnstile);
}

static void before_fork(void) {
    pthread_mutex_lock(&turnstile);
    // Who forks in the midst of such work has it already.
    if (depth == 0) pthread_mutex_lock(&work);
}

static void after_fork(void) {
    if (depth == 0) pthread_mutex_unlock(&work);
    pthread_mutex_unlock(&turnstile);
}

static void add_handlers(void) { pthread_atfork(before_fork, after_fork, after_fork); }

void clinux_forks_hold(void) {
    if (depth == 0) {
        pthread_once(&has_handlers, add_handlers);
        take_work();
    }
    depth++;
}

void clinux_forks_release(void) {
    depth--;
    if (depth == 0) pthread_mutex_unlock(&work);
}

void clinux_forks_admit(void) {
    if (depth > 0) pthread_mutex_unlock(&work);
}

void clinux_forks_hold_again(void) {
    if (depth > 0) take_work();
}

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

// The maximum number of events that one wait fetches.
enum { BATCH = 256 };

static uint32_t to_epoll(uint32_t flags) {
    uint32_t events = 0;
    if (flags & CLINUX_READ) events |= EPOLLIN;
    if (flags & CLINUX_WRITE) events |= EPOLLOUT;
    if (flags & CLINUX_PEER_CLOSED) events |= EPOLLRDHUP;
    if (flags & CLINUX_EDGE) events |= EPOLLET;
    return events;
}

static uint32_t from_epoll(uint32_t events) {
    uint32_t flags = 0;
    if (events & EPOLLIN) flags |= CLINUX_READ;
    if (events & EPOLLOUT) flags |= CLINUX_WRITE;
    if (events & EPOLLRDHUP) flags |= CLINUX_PEER_CLOSED;
    if (events & EPOLLHUP) flags |= CLINUX_HANG_UP;
    if (events & EPOLLERR) flags |= CLINUX_ERROR;
    return flags;
}

int clinux_poller_create(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int clinux_poller_add(int poller, int descriptor, uint32_t flags, uint64_t token) {
    struct epoll_event event = {.events = to_epoll(flags), .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
}

int clinux_poller_modify(int poller, int descriptor, uint32_t flags, uint64_t token) {
    struct epoll_event event = {.events = to_epoll(flags), .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event);
}

int clinux_poller_remove(int poller, int descriptor) {
    // Kernels before 2.6.9 required an event here: see BUGS in epoll_ctl(2).
    struct epoll_event event = {0};
    return epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, &event);
}

int clinux_poller_wait(int poller, struct clinux_event *events, int capacity, int timeout_milliseconds) {
    struct epoll_event ready[BATCH];
    clinux_forks_admit();
    int count = epoll_wait(poller, ready, capacity < BATCH ? capacity : BATCH, timeout_milliseconds);
    clinux_forks_hold_again();
    for (int index = 0; index < count; index++) {
        events[index].token = ready[index].data.u64;
        events[index].flags = from_epoll(ready[index].events);
    }
    return count;
}

int clinux_event_counter_create(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void fill(sigset_t *set, const int *signals, size_t count) {
    sigemptyset(set);
    for (size_t index = 0; index < count; index++) sigaddset(set, signals[index]);
}

int clinux_signal_receiver_create(const int *signals, size_t count) {
    sigset_t set;
    fill(&set, signals, count);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_signal_receiver_next(int descriptor) {
    struct signalfd_siginfo information;
    ssize_t count = read(descriptor, &information, sizeof information);
    if (count == -1) return -1;
    if (count != sizeof information) {
        errno = EIO;
        return -1;
    }
    return (int)information.ssi_signo;
}

int clinux_signals_block(const int *signals, size_t count) {
    sigset_t set;
    fill(&set, signals, count);
    errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
    return errno == 0 ? 0 : -1;
}

int clinux_signal_ignore(int number) {
    return signal(number, SIG_IGN) == SIG_ERR ? -1 : 0;
}

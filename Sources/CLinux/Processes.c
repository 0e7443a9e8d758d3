#define _GNU_SOURCE
#include "CLinux.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

// `known` points to this if no page could be allocated.
static _Atomic int no_page;

// The page that holds the process id, or 0 in a process that has not stored its id yet. NULL before the first call.
static _Atomic(_Atomic int *) known;

// Allocates a page that the kernel clears in the child of any fork.
static _Atomic int *make_page(void) {
    long size = sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return &no_page;
    if (madvise(page, (size_t)size, MADV_WIPEONFORK) == -1) {
        munmap(page, (size_t)size);
        return &no_page;
    }
    return page;
}

int clinux_process_id(void) {
    _Atomic int *page = atomic_load_explicit(&known, memory_order_acquire);
    if (page == NULL) {
        _Atomic int *made = make_page();
        if (atomic_compare_exchange_strong_explicit(
                &known, &page, made, memory_order_acq_rel, memory_order_acquire)) {
            page = made;
        } else if (made != &no_page) {
            munmap((void *)made, (size_t)sysconf(_SC_PAGESIZE));
        }
    }
    if (page == &no_page) return getpid();
    int id = atomic_load_explicit(page, memory_order_relaxed);
    if (id != 0) return id;
    id = getpid();
    atomic_store_explicit(page, id, memory_order_relaxed);
    return id;
}

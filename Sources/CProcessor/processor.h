// Processor instructions that Swift does not provide.
#pragma once

/// Prefetches the memory at an address into the cache. Does not wait, and ignores an invalid address.
static inline void cprocessor_prefetch(const void *address) { __builtin_prefetch(address); }

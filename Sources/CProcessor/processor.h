// What a processor can do and Swift has no word for.
#pragma once

/// Has the memory at an address fetched into the cache, and waits for nothing: of an address that is none it takes no
/// notice.
static inline void cprocessor_prefetch(const void *address) { __builtin_prefetch(address); }

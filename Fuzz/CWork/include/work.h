#pragma once
#include <stdint.h>

/* How many comparisons instrumented code has executed since the program began. */
uint64_t fuzz_work(void);

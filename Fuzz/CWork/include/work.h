#pragma once
#include <stdint.h>

/* Returns the work since the start of the program: the comparisons executed by instrumented code, and the work of
   SQLite if fuzz_count_statements was called. */
uint64_t fuzz_work(void);

/* Also counts the work of SQLite, which is not instrumented, on each connection opened from now on. */
void fuzz_count_statements(void);

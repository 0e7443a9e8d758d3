#pragma once
#include <stdint.h>

/* How many comparisons instrumented code has executed since the program began, with what fuzz_count_statements adds. */
uint64_t fuzz_work(void);

/* From now on adds the work of SQLite, which is not instrumented, for each connection that is opened. */
void fuzz_count_statements(void);

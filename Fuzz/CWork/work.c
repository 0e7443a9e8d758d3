/*
 * Counts the comparisons that instrumented code executes. The compiler makes the
 * code call the fuzzing engine for each comparison, and the linker option --wrap
 * redirects these calls to this file (see .ci/fuzz). Each iteration of a loop has
 * at least one comparison, so the count is proportional to the work and does not
 * depend on the load of the machine.
 */
#include "work.h"
#include <sqlite3.h>

static uint64_t work;

uint64_t fuzz_work(void) { return work; }

/* The engine identifies the comparison by the return address, so this must be a tail call. */
#define WRAP(name, type) \
    void __real_##name(type, type); \
    void __wrap_##name(type left, type right); \
    void __wrap_##name(type left, type right) { \
        work++; \
        __attribute__((musttail)) return __real_##name(left, right); \
    }

WRAP(__sanitizer_cov_trace_cmp1, uint8_t)
WRAP(__sanitizer_cov_trace_cmp2, uint16_t)
WRAP(__sanitizer_cov_trace_cmp4, uint32_t)
WRAP(__sanitizer_cov_trace_cmp8, uint64_t)
WRAP(__sanitizer_cov_trace_const_cmp1, uint8_t)
WRAP(__sanitizer_cov_trace_const_cmp2, uint16_t)
WRAP(__sanitizer_cov_trace_const_cmp4, uint32_t)
WRAP(__sanitizer_cov_trace_const_cmp8, uint64_t)

void __real___sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases);
void __wrap___sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases);
void __wrap___sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) {
    work++;
    __attribute__((musttail)) return __real___sanitizer_cov_trace_switch(value, cases);
}

/*
 * Called at the end of each statement. Adds the steps of SQLite's virtual machine
 * and the pages that were read. Statements that the full-text index runs itself
 * are included, but its work within a page is not counted.
 */
static int add_statement(unsigned kind, void *database, void *statement, void *nanoseconds) {
    (void)kind, (void)nanoseconds;
    work += (uint64_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    const int pages[] = {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS};
    for (int index = 0; index < 2; index++) {
        int count = 0, highest = 0;
        if (sqlite3_db_status(database, pages[index], &count, &highest, 1) == SQLITE_OK) work += (uint64_t)count;
    }
    return 0;
}

static int trace_connection(sqlite3 *database, char **error, const void *functions) {
    (void)error, (void)functions;
    return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, add_statement, database);
}

void fuzz_count_statements(void) { sqlite3_auto_extension((void (*)(void))trace_connection); }

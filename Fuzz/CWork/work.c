/*
 * Counts the comparisons that instrumented code executes, which the compiler
 * reports to the fuzzing engine one by one: the linker's --wrap leads each
 * report through here (see .ci/fuzz). A loop makes at least one a turn, so
 * that the count grows as the work does, whatever else the machine is doing.
 */
#include "work.h"
#include <sqlite3.h>

static uint64_t work;

uint64_t fuzz_work(void) { return work; }

/* The engine keys its tables by the return address, so the call has to be a jump. */
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
 * Of each statement that ends: the steps of SQLite's machine, and the pages
 * that it has looked at. The statements that the full-text index runs itself
 * are among them; what that does within a page is not counted.
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

static int opened(sqlite3 *database, char **error, const void *functions) {
    (void)error, (void)functions;
    return sqlite3_trace_v2(database, SQLITE_TRACE_PROFILE, add_statement, database);
}

void fuzz_count_statements(void) { sqlite3_auto_extension((void (*)(void))opened); }

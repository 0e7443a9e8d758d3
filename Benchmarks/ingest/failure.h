#ifndef FAILURE_H
#define FAILURE_H

/* Says on standard error what went wrong, and ends the program. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

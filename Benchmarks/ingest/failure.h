#ifndef FAILURE_H
#define FAILURE_H

/* Prints a message to standard error and exits with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* Process functions that Swift does not import from the C headers, for tests. */
#pragma once

#include <spawn.h>
#include <sys/types.h>

/* fork(2). The child of a program with threads may only call async-signal-safe functions. */
pid_t processes_fork(void);

/* Waits until a child has ended. Returns its exit code, or -1 if it was killed by a signal. */
int processes_wait(pid_t child);

/* exit(3): runs the exit handlers and ends the process. */
_Noreturn void processes_exit(int code);

/* _exit(2): ends the process without running the exit handlers. */
_Noreturn void processes_end(int code);

/* Closes all descriptors from `number` on in the program that is started. */
void processes_close_from(posix_spawn_file_actions_t *actions, int number);

/* Gives only the calling thread the file permissions of another user. */
void processes_reach_files_as(uid_t user);

/* What tests do with processes, and the headers hide from Swift. */
#pragma once

#include <spawn.h>
#include <sys/types.h>

/* fork(2): a child of a program with threads may do very little. */
pid_t processes_fork(void);

/* Waits for a child's end; answers its exit code, or -1 where it had none. */
int processes_wait(pid_t child);

/* Ends the process and runs what is to be run at its end. */
_Noreturn void processes_exit(int code);

/* Ends the process at once. */
_Noreturn void processes_end(int code);

/* Has a program that is started lack all descriptors from that number on. */
void processes_close_from(posix_spawn_file_actions_t *actions, int number);

/* Has the calling thread, and no other, reach files as another user would. */
void processes_reach_files_as(uid_t user);

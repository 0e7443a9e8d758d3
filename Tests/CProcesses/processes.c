#define _GNU_SOURCE
#include "CProcesses.h"

#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t processes_fork(void) { return fork(); }

int processes_wait(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

void processes_exit(int code) { exit(code); }

void processes_end(int code) { _exit(code); }

void processes_close_from(posix_spawn_file_actions_t *actions, int number) {
    posix_spawn_file_actions_addclosefrom_np(actions, number);
}

void processes_reach_files_as(uid_t user) { setfsuid(user); }

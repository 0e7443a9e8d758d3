#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// In glibc since 2.34. The symbol is weak, so that programs which never spawn also run with an older glibc.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int) __attribute__((weak));

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int input, int output) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    // Not every library closes its descriptors on exec.
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0) error = posix_spawnattr_setpgroup(attributes, 0);
    if (error == 0) {
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    return error;
}

int clinux_spawn(char *const arguments[], char *const environment[], int input, int output, int32_t *pid) {
    if (posix_spawn_file_actions_addclosefrom_np == NULL) {
        errno = ENOSYS;
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawnattr_init(&attributes);
        if (error == 0) {
            pid_t child = 0;
            error = prepare(&actions, &attributes, input, output);
            if (error == 0) error = posix_spawn(&child, arguments[0], &actions, &attributes, arguments, environment);
            *pid = child;
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

int clinux_has_ended(int32_t pid, int *is_signal, int *status) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1) return -1;
    if (info.si_pid == 0) return 0;
    *is_signal = info.si_code != CLD_EXITED;
    *status = info.si_status;
    return 1;
}

int clinux_reap(int32_t pid) {
    return waitpid(pid, NULL, WNOHANG);
}

#define _GNU_SOURCE
#include <sys/inotify.h>

#include "CLinux.h"

int clinux_folder_watch_create(void) {
    return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

int clinux_folder_watch_add(int watch, const char *path) {
    return inotify_add_watch(
        watch, path, IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

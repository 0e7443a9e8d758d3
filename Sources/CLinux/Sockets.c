#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

int clinux_unix_socket(int stream, int non_blocking) {
    int type = (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | (non_blocking ? SOCK_NONBLOCK : 0);
    return socket(AF_UNIX, type, 0);
}

int clinux_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

// Fills in the address and returns its length, or 0 if the path is too long. The length includes a NUL after the path
// if there is space for one, but none after an abstract name.
static socklen_t unix_address(struct sockaddr_un *address, const uint8_t *path, size_t count) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (count > sizeof address->sun_path) return 0;
    memcpy(address->sun_path, path, count);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count);
    if (count > 0 && path[0] != 0 && count < sizeof address->sun_path) length++;
    return length;
}

int clinux_connect_unix(int descriptor, const uint8_t *path, size_t count) {
    struct sockaddr_un address;
    socklen_t length = unix_address(&address, path, count);
    clinux_forks_admit();
    int result = connect(descriptor, (struct sockaddr *)&address, length);
    clinux_forks_hold_again();
    return result;
}

int clinux_bind_unix(int descriptor, const uint8_t *path, size_t count) {
    struct sockaddr_un address;
    socklen_t length = unix_address(&address, path, count);
    return bind(descriptor, (struct sockaddr *)&address, length);
}

ssize_t clinux_local_unix_path(int descriptor, char *path, size_t count) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) == -1) return -1;
    if (address.sun_family != AF_UNIX || length > sizeof address) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    size_t size = strnlen(address.sun_path, sizeof address.sun_path);
    if (size >= count) {
        errno = ERANGE;
        return -1;
    }
    memcpy(path, address.sun_path, size);
    path[size] = 0;
    return (ssize_t)size;
}

ssize_t clinux_send(int descriptor, const void *bytes, size_t count) {
    return send(descriptor, bytes, count, MSG_NOSIGNAL);
}

ssize_t clinux_send_to_unix(
    int descriptor, const void *bytes, size_t count, const uint8_t *path, size_t path_count) {
    struct sockaddr_un address;
    socklen_t length = unix_address(&address, path, path_count);
    return sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address, length);
}

union descriptor_message {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t clinux_send_descriptor(int socket, const void *bytes, size_t count, int passed) {
    union descriptor_message control;
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    struct iovec part = {(void *)bytes, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t clinux_receive_descriptor(int socket, void *bytes, size_t count, int *received) {
    // Space for one descriptor. The kernel closes those that do not fit.
    union descriptor_message control;
    struct iovec buffer = {bytes, count};
    struct msghdr message = {
        .msg_iov = &buffer, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *received = -1;
    ssize_t result = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (result == -1) return -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        // Because of alignment, the kernel may have passed a second descriptor, which is closed.
        size_t descriptors = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < descriptors; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(part) + index * sizeof descriptor, sizeof descriptor);
            if (*received == -1) {
                *received = descriptor;
            } else {
                close(descriptor);
            }
        }
    }
    return result;
}

static int get_option(int descriptor, int level, int option) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, level, option, &value, &length) == -1 ? -1 : value;
}

int clinux_set_send_timeout(int descriptor, int64_t nanoseconds) {
    // The kernel interprets zero as no timeout, so a time below a microsecond must be rounded up.
    int64_t microseconds = (nanoseconds + 999) / 1000;
    struct timeval time = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000};
    return setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int clinux_is_listening(int descriptor) {
    return get_option(descriptor, SOL_SOCKET, SO_ACCEPTCONN);
}

int clinux_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == -1) return -1;
    *pid = credentials.pid;
    *uid = credentials.uid;
    *gid = credentials.gid;
    return 0;
}

int clinux_peer_process(int descriptor) {
// The headers of glibc may be older than the kernel.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
    int process = -1;
    socklen_t length = sizeof process;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERPIDFD, &process, &length) == -1 ? -1 : process;
}

ssize_t clinux_peer_groups(int descriptor, uint32_t *groups, size_t capacity) {
    _Static_assert(sizeof(gid_t) == sizeof(uint32_t), "a group id has 32 bits");
    socklen_t length = (socklen_t)(capacity * sizeof(gid_t));
    int result = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &length);
    // A buffer that is too small is no failure: the kernel returns the required size.
    if (result == -1 && errno != ERANGE) return -1;
    return (ssize_t)(length / sizeof(gid_t));
}

// The kernel's calls that the Swift overlay of glibc leaves out or hides
// behind _GNU_SOURCE. Each function keeps the convention of the call it
// stands for: -1 and errno, unless its comment says otherwise.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Errors

/// The symbolic name of an error ("ENOENT"), or NULL for an unknown number.
const char *clinux_error_name(int error);
/// What an error means, untranslated and thread-safe; NULL when unknown.
const char *clinux_error_text(int error);

// Readiness

/// An event as it leaves epoll, without the packing that epoll_event has.
struct clinux_event {
    uint64_t token;
    uint32_t flags;
};

static const uint32_t CLINUX_READ = 1;
static const uint32_t CLINUX_WRITE = 2;
static const uint32_t CLINUX_PEER_CLOSED = 4;
static const uint32_t CLINUX_HANG_UP = 8;
static const uint32_t CLINUX_ERROR = 16;
static const uint32_t CLINUX_EDGE = 32;

int clinux_poller_create(void);
int clinux_poller_add(int poller, int descriptor, uint32_t flags, uint64_t token);
int clinux_poller_modify(int poller, int descriptor, uint32_t flags, uint64_t token);
int clinux_poller_remove(int poller, int descriptor);
/// Fills at most `capacity` events; a negative timeout waits for ever.
int clinux_poller_wait(int poller, struct clinux_event *events, int capacity, int timeout_milliseconds);

int clinux_event_counter_create(void);

// Signals

int clinux_signal_receiver_create(const int *signals, size_t count);
/// The signal that arrived, or -1 and errno (EAGAIN when none did).
int clinux_signal_receiver_next(int descriptor);
/// Blocks signals for the calling thread.
int clinux_signals_block(const int *signals, size_t count);
int clinux_signal_ignore(int signal);

// Sockets

/// A stream or datagram socket of a family, closed on exec.
int clinux_socket(int family, int stream, int non_blocking);
int clinux_socket_pair(int *first, int *second, int stream, int non_blocking);
/// Accepts a connection, non-blocking and closed on exec.
int clinux_accept(int listener);
/// Connects to, or binds to, a Unix address of exactly these bytes.
int clinux_connect_unix(int descriptor, const uint8_t *path, size_t count);
int clinux_bind_unix(int descriptor, const uint8_t *path, size_t count);
int clinux_connect_loopback(int descriptor, int family, uint16_t port);
int clinux_bind_loopback(int descriptor, int family, uint16_t port);
/// The port a TCP socket is bound to, or -1.
int clinux_local_port(int descriptor);
/// The path a Unix socket is bound to, ended by a zero byte. Returns its length,
/// 0 for one without a path, or -1.
ssize_t clinux_local_unix_path(int descriptor, char *path, size_t count);
/// Sends without ever raising SIGPIPE.
ssize_t clinux_send(int descriptor, const void *bytes, size_t count);
ssize_t clinux_send_two(
    int descriptor, const void *head, size_t head_count, const void *body, size_t body_count);
ssize_t clinux_send_to_unix(
    int descriptor, const void *bytes, size_t count, const uint8_t *path, size_t path_count);
/// Sends at least one byte and an open descriptor with it, without ever raising SIGPIPE.
ssize_t clinux_send_descriptor(int socket, const void *bytes, size_t count, int passed);
/// Reads as recv(2) does. `received` is a descriptor that came with the bytes, closed on exec, or -1; of several that
/// came at once all but the first are closed.
ssize_t clinux_receive_descriptor(int socket, void *bytes, size_t count, int *received);
/// The error a non-blocking connect ended with: 0 for none, or -1 and errno.
int clinux_socket_error(int descriptor);
int clinux_set_send_timeout(int descriptor, int64_t nanoseconds);
int clinux_set_send_buffer(int descriptor, int bytes);
int clinux_set_receive_buffer(int descriptor, int bytes);
int clinux_set_reset_on_close(int descriptor);
int clinux_set_no_delay(int descriptor);
int clinux_set_reuse_address(int descriptor);
/// 1 when the descriptor is a socket that listens, 0 when not, or -1.
int clinux_is_listening(int descriptor);
int clinux_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid);
/// A descriptor of the peer's process, closed on exec; ENOPROTOOPT before Linux 6.5.
int clinux_peer_process(int descriptor);
/// How many groups the peer is in; fills at most `capacity` of them.
ssize_t clinux_peer_groups(int descriptor, uint32_t *groups, size_t capacity);

// Folders

int clinux_folder_watch_create(void);
/// Has the watch tell of what is taken out of a folder or moved in its place, and of the folder's own end.
int clinux_folder_watch_add(int watch, const char *path);

// Descriptors, threads and processes

int clinux_pipe(int *reader, int *writer, int non_blocking);
ssize_t clinux_write_two(
    int descriptor, const void *head, size_t head_count, const void *body, size_t body_count);
int clinux_set_non_blocking(int descriptor, int on);
int clinux_set_close_on_exec(int descriptor, int on);
/// A copy of the descriptor, closed on exec.
int clinux_duplicate(int descriptor);
/// The width of the terminal, or -1 when it is none.
int clinux_terminal_columns(int descriptor);
/// The height of the terminal, or -1 when it is none.
int clinux_terminal_rows(int descriptor);
int clinux_open(const char *path, int flags, mode_t mode);
/// Opens a file by its name in a folder; a symbolic link is not followed.
int clinux_open_at(int folder, const char *name, int flags, mode_t mode);
/// Opens a folder only to find other files from it; a symbolic link is not followed.
int clinux_find_folder_at(int folder, const char *name);
/// Whether this process has more rights than its caller, by setuid, setgid or file capabilities.
int clinux_is_privileged(void);
/// A variable of the environment; NULL in a process that is privileged in that way.
const char *clinux_secure_variable(const char *name);
int clinux_thread_id(void);

/// getpid(2), without a call of the kernel each time.
int clinux_process_id(void);
/// Starts a thread that leaves all signals to the others, except those that
/// tell of a fault in the thread itself.
int clinux_thread_start(
    unsigned long *thread, size_t stack_size, void *(*body)(void *), void *context);
int clinux_set_thread_name(const char *name);
/// Lets other threads go first where there are too few processors for all.
int clinux_yield_to_others(int niceness);
/// Has the threads share a few heaps, and what is free given back early.
void clinux_keep_heaps_small(void);
ssize_t clinux_random(void *bytes, size_t count);
int clinux_set_dumpable(int on);

// Forks

/// Has every fork of this process wait until this thread releases it: a child
/// that is forked off while its parent's thread holds a lock of the loader or
/// of the language's runtime would wait for it for ever. May be nested.
void clinux_forks_hold(void);
void clinux_forks_release(void);
/// Lets forks happen around a call that may last, where this thread holds
/// them off; it must not be in the midst of anything then, nor have a lock.
void clinux_forks_admit(void);
void clinux_forks_hold_again(void);

// Backtraces

/// Fills in where the calls on this thread's stack return to, innermost first,
/// by its frame pointers; answers how many. Those of calls that were made below
/// a mark are left out; with 0 none are.
int clinux_return_addresses(uintptr_t mark, uintptr_t *addresses, int capacity);
/// How deep this thread's stack is now.
uintptr_t clinux_stack_mark(void);

/// The executable or a library, as it is loaded.
struct clinux_image {
    /// Its path; empty for the executable. Valid during the visit.
    const char *name;
    /// What is to be taken from an address to have one of the file.
    uintptr_t base;
    /// Its code: the first address, and the one behind the last.
    uintptr_t start, end;
    /// NULL where it has none. Valid during the visit.
    const uint8_t *build_id;
    size_t build_id_length;
};

typedef void (*clinux_image_visitor)(const struct clinux_image *image, void *context);

void clinux_visit_images(clinux_image_visitor visitor, void *context);
/// Another number after each image that was loaded or unloaded.
uint64_t clinux_images_generation(void);

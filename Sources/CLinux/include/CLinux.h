// Linux and glibc functions that Swift does not import, often because the headers declare them only with _GNU_SOURCE.
// Unless stated otherwise, a function that can fail returns -1 and sets errno.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Errors

/// Returns the symbolic name of an error ("ENOENT"), or NULL if it is unknown.
const char *clinux_error_name(int error);
/// Returns the untranslated description of an error (thread-safe), or NULL if it is unknown.
const char *clinux_error_text(int error);

// Readiness

/// An event of epoll, without the packing of epoll_event.
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
/// Fetches at most `capacity` events and returns their number. A negative timeout waits without limit.
int clinux_poller_wait(int poller, struct clinux_event *events, int capacity, int timeout_milliseconds);

int clinux_event_counter_create(void);

// Signals

int clinux_signal_receiver_create(const int *signals, size_t count);
/// Returns the next pending signal, or -1 and errno (EAGAIN if there is none).
int clinux_signal_receiver_next(int descriptor);
/// Blocks signals for the calling thread.
int clinux_signals_block(const int *signals, size_t count);
int clinux_signal_ignore(int signal);

// Sockets

/// Creates a Unix stream or datagram socket, closed on exec.
int clinux_unix_socket(int stream, int non_blocking);
/// Accepts a connection as a non-blocking socket, closed on exec.
int clinux_accept(int listener);
/// Connects or binds a socket to the Unix address that consists of exactly these bytes.
int clinux_connect_unix(int descriptor, const uint8_t *path, size_t count);
int clinux_bind_unix(int descriptor, const uint8_t *path, size_t count);
/// Stores the NUL-terminated path of a bound Unix socket. Returns the length of the path, 0 if there is none, or -1.
ssize_t clinux_local_unix_path(int descriptor, char *path, size_t count);
/// Sends bytes without ever raising SIGPIPE.
ssize_t clinux_send(int descriptor, const void *bytes, size_t count);
ssize_t clinux_send_to_unix(
    int descriptor, const void *bytes, size_t count, const uint8_t *path, size_t path_count);
/// Sends an open descriptor with bytes, of which there must be at least one, without ever raising SIGPIPE.
ssize_t clinux_send_descriptor(int socket, const void *bytes, size_t count, int passed);
/// Reads like recv(2). `received` is set to a descriptor that was passed with the bytes, closed on exec, or -1. If
/// several were passed, all but the first are closed.
ssize_t clinux_receive_descriptor(int socket, void *bytes, size_t count, int *received);
/// Sets the timeout of sending and connecting, rounded up to whole microseconds; 0 for no timeout.
int clinux_set_send_timeout(int descriptor, int64_t nanoseconds);
/// Returns 1 for a listening socket, 0 for any other, or -1.
int clinux_is_listening(int descriptor);
int clinux_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid);
/// Returns a pidfd of the peer's process, closed on exec. Fails with ENOPROTOOPT before Linux 6.5.
int clinux_peer_process(int descriptor);
/// Returns the number of the peer's supplementary groups. Stores the groups unless there are more than `capacity`.
ssize_t clinux_peer_groups(int descriptor, uint32_t *groups, size_t capacity);

// Folders

int clinux_folder_watch_create(void);
/// Watches for entries that are deleted from the folder, or moved out of it or into it, and for the deletion or
/// renaming of the folder.
int clinux_folder_watch_add(int watch, const char *path);

// Descriptors, threads and processes

int clinux_pipe(int *reader, int *writer);
int clinux_set_non_blocking(int descriptor, int on);
/// Duplicates a descriptor; the copy is closed on exec.
int clinux_duplicate(int descriptor);
/// Returns the width of the terminal in columns, 0 if it is unknown, or -1 if the descriptor is not a terminal.
int clinux_terminal_columns(int descriptor);
/// Returns the height of the terminal in rows, 0 if it is unknown, or -1 if the descriptor is not a terminal.
int clinux_terminal_rows(int descriptor);
/// Opens a file, closed on exec.
int clinux_open(const char *path, int flags, mode_t mode);
/// Opens a file in a folder without following a symbolic link.
int clinux_open_at(int folder, const char *name, int flags, mode_t mode);
/// Opens a folder for lookups only (O_PATH), without following a symbolic link.
int clinux_find_folder_at(int folder, const char *name);
/// Returns 1 if this process has more privileges than its caller, as with setuid, setgid or file capabilities.
int clinux_is_privileged(void);
/// Returns an environment variable; NULL if it is not set or if clinux_is_privileged returns 1.
const char *clinux_secure_variable(const char *name);
int clinux_thread_id(void);

/// Returns the process id like getpid(2), but usually without a system call.
int clinux_process_id(void);
/// Starts a thread that blocks most signals, except those raised by a fault in the thread itself.
int clinux_thread_start(
    unsigned long *thread, size_t stack_size, void *(*body)(void *), void *context);
int clinux_set_thread_name(const char *name);
/// Sets the nice value of this thread. With a positive value, other threads get more time if processors are scarce.
int clinux_yield_to_others(int niceness);
/// Limits malloc to two heaps for all threads, and makes it return free memory to the kernel early.
void clinux_keep_heaps_small(void);
/// Returns the free pages of all heaps to the kernel.
void clinux_return_free_memory(void);
ssize_t clinux_random(void *bytes, size_t count);
int clinux_set_dumpable(int on);

// Child processes

/// Starts the program arguments[0] as the leader of a new process group, with `input` as its standard input, `output`
/// as its standard output and error, and no other descriptors. All signals are unblocked and have their default action.
int clinux_spawn(char *const arguments[], char *const environment[], int input, int output, int32_t *pid);
/// Returns 1 if a child has ended, without reaping it, and stores its exit status or signal; 0 if it has not; or -1.
int clinux_has_ended(int32_t pid, int *is_signal, int *status);
/// Reaps a child if it has ended. Returns its id, 0 if it has not ended, or -1.
int clinux_reap(int32_t pid);

// Forks

/// Delays forks by other threads until this thread calls clinux_forks_release. A child that is forked while another
/// thread holds a lock of the loader or of the Swift runtime would deadlock on that lock. Calls may be nested.
void clinux_forks_hold(void);
void clinux_forks_release(void);
/// Allows forks during a blocking call, until clinux_forks_hold_again is called. Does nothing if this thread does not
/// delay forks. The thread must be in a consistent state and must not hold a lock.
void clinux_forks_admit(void);
void clinux_forks_hold_again(void);

// Backtraces

/// Stores the return addresses of the calls on this thread's stack, innermost first, found with frame pointers. Returns
/// their number. Calls made since the mark was taken with clinux_stack_mark are omitted; a mark of 0 omits none.
int clinux_return_addresses(uintptr_t mark, uintptr_t *addresses, int capacity);
/// Returns the current position on this thread's stack.
uintptr_t clinux_stack_mark(void);

/// The executable or a library, as loaded in memory.
struct clinux_image {
    /// The path; empty for the executable. Valid during the visit.
    const char *name;
    /// The load address. An address in memory minus `base` is an address in the file.
    uintptr_t base;
    /// The code: its first address, and the address after its last.
    uintptr_t start, end;
    /// The build id; NULL if there is none. Valid during the visit.
    const uint8_t *build_id;
    size_t build_id_length;
};

typedef void (*clinux_image_visitor)(const struct clinux_image *image, void *context);

/// Calls the visitor for each image with code. Delays forks meanwhile.
void clinux_visit_images(clinux_image_visitor visitor, void *context);
/// Returns a number that changes whenever an image is loaded or unloaded.
uint64_t clinux_images_generation(void);

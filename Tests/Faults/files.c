/* Replacements for system calls: on the database's files, with points and faults, and on sockets. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

/* The file that a descriptor belongs to. */
enum file {
    NOT_OURS,
    DATABASE,
    DATABASE_LOG,
    OTHER,
};

enum { most_descriptors = 65536 };
static unsigned char files[most_descriptors];

static struct faults_place open_place, write_place, sync_place, log_write_place, log_sync_place, log_unlink_place,
    receipt_place;
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_pread)(int, void *, size_t, off64_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_fstat)(int, struct stat64 *);
static void *(*real_mmap)(void *, size_t, int, int, int, off64_t);
static int (*real_unlink)(const char *);
static ssize_t (*real_send)(int, const void *, size_t, int);

__attribute__((constructor)) static void find_functions(void) {
    real_open = (int (*)(const char *, int, ...))faults_real("open64");
    real_close = (int (*)(int))faults_real("close");
    real_pread = (ssize_t(*)(int, void *, size_t, off64_t))faults_real("pread64");
    real_pwrite = (ssize_t(*)(int, const void *, size_t, off64_t))faults_real("pwrite64");
    real_fdatasync = (int (*)(int))faults_real("fdatasync");
    real_ftruncate = (int (*)(int, off64_t))faults_real("ftruncate64");
    real_fstat = (int (*)(int, struct stat64 *))faults_real("fstat64");
    real_mmap = (void *(*)(void *, size_t, int, int, int, off64_t))faults_real("mmap64");
    real_unlink = (int (*)(const char *))faults_real("unlink");
    real_send = (ssize_t(*)(int, const void *, size_t, int))faults_real("send");
    open_place = faults_place("open");
    write_place = faults_place("database: write");
    sync_place = faults_place("database: sync");
    log_write_place = faults_place("log: write");
    log_sync_place = faults_place("log: sync");
    log_unlink_place = faults_place("log: unlink");
    receipt_place = faults_place("receipt");
}

static enum file file_of(int descriptor) {
    if (faults == NULL || descriptor < 0 || descriptor >= most_descriptors) return NOT_OURS;
    return files[descriptor];
}

static bool ends(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    bool is_ours = faults_is_ours(path);
    if (is_ours) {
        if (faults_fails(FAULTS_OPEN)) return -1;
        faults_pass(open_place.before);
    }
    int descriptor = real_open(path, flags, mode);
    if (is_ours && descriptor >= 0 && descriptor < most_descriptors) {
        files[descriptor] = ends(path, "-wal") ? DATABASE_LOG : ends(path, "-shm") ? OTHER : DATABASE;
        faults_pass(open_place.after);
    }
    return descriptor;
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < most_descriptors) files[descriptor] = NOT_OURS;
    return real_close(descriptor);
}

ssize_t pread64(int descriptor, void *buffer, size_t count, off64_t offset) {
    if (file_of(descriptor) != NOT_OURS && faults_fails(FAULTS_READ)) return -1;
    return real_pread(descriptor, buffer, count, offset);
}

ssize_t pwrite64(int descriptor, const void *buffer, size_t count, off64_t offset) {
    enum file file = file_of(descriptor);
    if (file == NOT_OURS) return real_pwrite(descriptor, buffer, count, offset);
    if (faults_fails(FAULTS_WRITE)) return -1;
    struct faults_place place = {0, 0};
    if (file == DATABASE) place = write_place;
    if (file == DATABASE_LOG) place = log_write_place;
    faults_pass(place.before);
    ssize_t written = real_pwrite(descriptor, buffer, count, offset);
    faults_pass(place.after);
    return written;
}

int fdatasync(int descriptor) {
    enum file file = file_of(descriptor);
    if (file == NOT_OURS) return real_fdatasync(descriptor);
    if (faults_fails(FAULTS_SYNC)) return -1;
    struct faults_place place = {0, 0};
    if (file == DATABASE) place = sync_place;
    if (file == DATABASE_LOG) place = log_sync_place;
    faults_pass(place.before);
    int code = real_fdatasync(descriptor);
    faults_pass(place.after);
    return code;
}

int ftruncate64(int descriptor, off64_t length) {
    if (file_of(descriptor) != NOT_OURS && faults_fails(FAULTS_TRUNCATE)) return -1;
    return real_ftruncate(descriptor, length);
}

int fstat64(int descriptor, struct stat64 *status) {
    if (file_of(descriptor) != NOT_OURS && faults_fails(FAULTS_STAT)) return -1;
    return real_fstat(descriptor, status);
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    if (file_of(descriptor) != NOT_OURS && faults_fails(FAULTS_MAP)) return MAP_FAILED;
    return real_mmap(address, length, protection, flags, descriptor, offset);
}

int unlink(const char *path) {
    bool is_log = faults_is_ours(path) && ends(path, "-wal");
    if (faults_is_ours(path) && faults_fails(FAULTS_UNLINK)) return -1;
    if (is_log) faults_pass(log_unlink_place.before);
    int code = real_unlink(path);
    if (is_log) faults_pass(log_unlink_place.after);
    return code;
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    static const char receipts[] = "{\"parameters\":{\"receipts\":";
    bool is_receipt = faults != NULL && count > sizeof receipts && memcmp(bytes, receipts, sizeof receipts - 1) == 0;
    if (is_receipt) faults_pass(receipt_place.before);
    ssize_t sent = real_send(descriptor, bytes, count, flags);
    if (is_receipt) faults_pass(receipt_place.after);
    return sent;
}

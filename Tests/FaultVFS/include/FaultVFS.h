/* A simulated disk that fails on demand: an SQLite VFS between SQLite and its
   default VFS. Files in an attached folder are on such a disk; all others are
   passed to the default VFS.

   Writes are kept in memory until SQLite syncs the file, as the kernel would do.
   All connections of the process see them, other processes see only synced data.
   So the result of a power cut is known: the synced data, and a random part of
   the rest in sectors of 512 bytes. Created files may disappear and deleted files
   may come back as long as SQLite has not synced their folder. */
#pragma once

#include <stdint.h>

/* Calls that are counted and may fail, as bits of a set. */
enum {
    FAULTVFS_READ = 1,
    FAULTVFS_WRITE = 2,
    FAULTVFS_SYNC = 4,
    FAULTVFS_TRUNCATE = 8,
    FAULTVFS_OPEN = 16,
    FAULTVFS_DELETE = 32,
    FAULTVFS_SIZE = 64,
    FAULTVFS_LOCK = 128,
    FAULTVFS_ACCESS = 256,
    FAULTVFS_SHARED_MEMORY = 512,
    FAULTVFS_ALL = 1023
};

/* How a call fails: with EIO, with ENOSPC, or with EIO after writing the first half. */
enum { FAULTVFS_ERROR, FAULTVFS_NO_SPACE, FAULTVFS_SHORT };

/* Turns a folder into a disk. Returns its number, or -1 if there are too many disks. */
int faultvfs_attach(const char *folder, uint64_t seed);

/* Releases a disk. Its files must be closed. */
void faultvfs_detach(int disk);

/* Makes the nth call of a set fail, counted from now on, and all later ones too if
   lasting is not 0. With nth = 0 nothing fails. */
void faultvfs_fail(int disk, int calls, int64_t nth, int fault, int lasting);

/* Returns the number of calls that have failed since the last faultvfs_fail(). */
int64_t faultvfs_failed(int disk);

/* Returns the number of calls of a set so far. */
int64_t faultvfs_calls(int disk, int calls);

/* The first returns the total size of all files in bytes, the second limits it. -1 means
   no limit. */
int64_t faultvfs_bytes(int disk);
void faultvfs_limit(int disk, int64_t bytes);

/* An image is what a power cut would leave: a folder next to the disk's, with a number
   appended to its name. The first function takes one before each call of a set, at random
   with a probability of 1 / one_in, and none if one_in is 0. The second takes one now. The
   last two return the number of images so far. */
void faultvfs_take_images(int disk, int calls, uint32_t one_in);
int64_t faultvfs_take_image(int disk);
int64_t faultvfs_images(int disk);

/* Cuts the power before the nth call of a set, counted from now on, or at once if nth
   is 0. From then on all calls fail, until all files are closed and the disk is
   restarted. */
void faultvfs_cut(int disk, int calls, int64_t nth);
int faultvfs_is_cut(int disk);

/* Makes a power cut kill the process, as kill -9 does. */
void faultvfs_cut_kills(int disk);

/* Restarts the disk. Returns 0 if a file is still open. */
int faultvfs_restart(int disk);

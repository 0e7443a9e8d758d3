/* A disk that fails as a test wants it to: a VFS of SQLite between SQLite and
   its own. Files in a folder that was attached are on such a disk; all others
   are left to SQLite's own VFS.

   What is written is held in memory until SQLite syncs the file, as the kernel
   would; all connections of the process see it. So what a power cut leaves is
   known: what was synced, and of the rest whatever the dice let through, in
   sectors of 512 bytes. Names of files are lost, or come back, as long as SQLite
   has not synced their folder. Other processes see what was synced alone. */
#pragma once

#include <stdint.h>

/* Calls that are counted and may fail; they are added up to sets. */
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

/* How a call fails: by EIO, by ENOSPC, or by EIO after the first half was written. */
enum { FAULTVFS_ERROR, FAULTVFS_NO_SPACE, FAULTVFS_SHORT };

/* Makes a folder a disk. Answers its number, or -1 where there are too many. */
int faultvfs_attach(const char *folder, uint64_t seed);

/* Forgets a disk; its files must be closed. */
void faultvfs_detach(int disk);

/* Lets the nth of the calls in a set fail, counted from now, and if it is to last
   all behind it. With 0 nothing fails. */
void faultvfs_fail(int disk, int calls, int64_t nth, int fault, int lasting);

/* How many calls have failed since it was said what is to fail. */
int64_t faultvfs_failed(int disk);

/* How many calls of a set there were. */
int64_t faultvfs_calls(int disk, int calls);

/* The bytes that all files hold now, and how many they may hold; -1 for no limit. */
int64_t faultvfs_bytes(int disk);
void faultvfs_limit(int disk, int64_t bytes);

/* Takes an image of what a power cut would leave before one in so many calls of a
   set: a folder beside the disk's, with the number behind its name. 0 ends it. */
void faultvfs_take_images(int disk, int calls, uint32_t one_in);
int64_t faultvfs_take_image(int disk);
int64_t faultvfs_images(int disk);

/* Cuts the power before the nth of the calls in a set, counted from now, or now
   with 0. All calls fail from there on, until all files are closed and the disk is
   started again. */
void faultvfs_cut(int disk, int calls, int64_t nth);
int faultvfs_is_cut(int disk);

/* Says that a cut ends the process, as kill -9 does. */
void faultvfs_cut_kills(int disk);

/* Answers whether the files were closed, so that the disk could start. */
int faultvfs_restart(int disk);

/* The state of a disk: for each file, what processes see and what a power cut leaves. */
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "FaultVFS.h"

enum { SECTOR = 512, KINDS = 10 };

typedef struct content {
    uint8_t *bytes;
    int64_t size;
    int64_t capacity;
} content;

/* A file, open or closed. */
typedef struct node {
    struct node *next;
    char *path;
    int opened;
    /* The content that processes see, and the synced content. */
    content seen;
    content synced;
    /* For each sector, whether it was written since the last sync. */
    uint8_t *dirty;
    int64_t sectors;
    /* has_name: the folder was synced since the file was created. is_deleted: the file was
       deleted, and the folder not synced since. */
    int has_name;
    int is_deleted;
} node;

typedef struct disk {
    pthread_mutex_t lock;
    char *folder;
    size_t folder_length;
    uint64_t chance;
    node *nodes;
    int opened;
    int is_cut;
    int cut_kills;
    int64_t counts[KINDS];
    int64_t limit;

    int fail_calls;
    int64_t fail_in;
    int fault;
    int is_lasting;
    int64_t failed;

    int cut_calls;
    int64_t cut_in;

    int image_calls;
    uint32_t image_one_in;
    int64_t images;
} disk;

/* Returns the disk that contains a path, or NULL. */
disk *disk_of(const char *path);

/* All following functions must be called with the disk's lock held. */

node *node_at(disk *disk, const char *path);
node *make_node(disk *disk, const char *path);
void forget_node(disk *disk, node *node);

void node_write(node *node, const void *bytes, int64_t count, int64_t offset);
void node_truncate(node *node, int64_t size);
void node_synced(node *node);
int64_t disk_bytes(disk *disk);

/* Makes the creation and deletion of files durable. */
void sync_names(disk *disk);

/* Counts a call. Returns whether it must fail, with errno set. Takes an image or cuts
   the power first if that is due before this call. */
int call_fails(disk *disk, int call);

/* Returns a random number from 0 to bound - 1. */
uint64_t roll(disk *disk, uint64_t bound);

/* What lies on the disk: of each file what is seen, and what a power cut leaves. */
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

/* A file, open or not. */
typedef struct node {
    struct node *next;
    char *path;
    int opened;
    /* What a process sees, and what was synced of it. */
    content seen;
    content synced;
    /* For each sector whether it was written since the last sync. */
    uint8_t *dirty;
    int64_t sectors;
    /* Whether the folder was synced since the file was made, or deleted. */
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

/* The disk that a path lies on, if it lies on one. */
disk *disk_of(const char *path);

/* All that follows is called with the disk's lock held. */

node *node_at(disk *disk, const char *path);
node *make_node(disk *disk, const char *path);
void forget_node(disk *disk, node *node);

void node_write(node *node, const void *bytes, int64_t count, int64_t offset);
void node_truncate(node *node, int64_t size);
void node_synced(node *node);
int64_t disk_bytes(disk *disk);

/* Names of files that were made or deleted are so for good. */
void sync_names(disk *disk);

/* Counts a call. Answers whether it fails, with errno said; what else is to happen
   before it happens in here. */
int call_fails(disk *disk, int call);

/* Rolls the dice over a range. */
uint64_t roll(disk *disk, uint64_t bound);

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DISKS = 256 };

static disk *disks[MOST_DISKS];
static pthread_mutex_t disks_lock = PTHREAD_MUTEX_INITIALIZER;

static void stop(const char *words) {
    fprintf(stderr, "FaultVFS: %s\n", words);
    abort();
}

static void *grown(void *memory, size_t size) {
    void *result = realloc(memory, size);
    if (!result) stop("there is no memory");
    return result;
}

/* SplitMix64, reproducible with the same seed. */
uint64_t roll(disk *disk, uint64_t bound) {
    disk->chance += 0x9E3779B97F4A7C15;
    uint64_t mixed = disk->chance;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return (mixed ^ (mixed >> 31)) % bound;
}

/* Contents of files. */

static void resize(content *content, int64_t size) {
    if (size > content->capacity) {
        int64_t capacity = 2 * content->capacity > size ? 2 * content->capacity : size;
        content->bytes = grown(content->bytes, (size_t)capacity);
        content->capacity = capacity;
    }
    if (size > content->size) memset(content->bytes + content->size, 0, (size_t)(size - content->size));
    content->size = size;
}

static void copy(content *to, const content *from) {
    resize(to, from->size);
    if (from->size > 0) memcpy(to->bytes, from->bytes, (size_t)from->size);
}

static void soil(node *node, int64_t from, int64_t to) {
    int64_t sectors = (to + SECTOR - 1) / SECTOR;
    if (sectors > node->sectors) {
        node->dirty = grown(node->dirty, (size_t)(2 * sectors));
        memset(node->dirty + node->sectors, 0, (size_t)(2 * sectors - node->sectors));
        node->sectors = 2 * sectors;
    }
    for (int64_t sector = from / SECTOR; sector < sectors; sector++) node->dirty[sector] = 1;
}

void node_write(node *node, const void *bytes, int64_t count, int64_t offset) {
    int64_t end = offset + count;
    if (offset > node->seen.size) soil(node, node->seen.size, offset);
    if (end > node->seen.size) resize(&node->seen, end);
    memcpy(node->seen.bytes + offset, bytes, (size_t)count);
    soil(node, offset, end);
}

void node_truncate(node *node, int64_t size) {
    /* Bytes beyond the end are zero when the file grows again. */
    if (size > node->seen.size) soil(node, node->seen.size, size);
    if (size < node->seen.size) soil(node, size, node->seen.size);
    resize(&node->seen, size);
}

void node_synced(node *node) {
    resize(&node->synced, node->seen.size);
    for (int64_t sector = 0; sector < node->sectors; sector++) {
        int64_t start = sector * SECTOR;
        int64_t end = start + SECTOR < node->seen.size ? start + SECTOR : node->seen.size;
        if (!node->dirty[sector]) continue;
        if (start < end) memcpy(node->synced.bytes + start, node->seen.bytes + start, (size_t)(end - start));
        node->dirty[sector] = 0;
    }
}

/* Files by name. */

node *node_at(disk *disk, const char *path) {
    for (node *node = disk->nodes; node; node = node->next) {
        if (!node->is_deleted && strcmp(node->path, path) == 0) return node;
    }
    return NULL;
}

static void load(node *node) {
    int file = open(node->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0) return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        resize(&node->synced, status.st_size);
        int64_t done = 0;
        while (done < node->synced.size) {
            ssize_t count = pread(file, node->synced.bytes + done, (size_t)(node->synced.size - done), done);
            if (count <= 0) stop("a file can't be read");
            done += count;
        }
        copy(&node->seen, &node->synced);
        node->has_name = 1;
    }
    close(file);
}

node *make_node(disk *disk, const char *path) {
    node *node = grown(NULL, sizeof *node);
    memset(node, 0, sizeof *node);
    node->path = strdup(path);
    /* This process has not opened the file yet, so closing it here releases no lock. */
    load(node);
    node->next = disk->nodes;
    disk->nodes = node;
    return node;
}

void forget_node(disk *disk, node *gone) {
    node **place = &disk->nodes;
    while (*place != gone) place = &(*place)->next;
    *place = gone->next;
    free(gone->path);
    free(gone->seen.bytes);
    free(gone->synced.bytes);
    free(gone->dirty);
    free(gone);
}

void sync_names(disk *disk) {
    node *node = disk->nodes;
    while (node) {
        struct node *next = node->next;
        node->has_name = 1;
        if (node->is_deleted && node->opened == 0) forget_node(disk, node);
        node = next;
    }
}

int64_t disk_bytes(disk *disk) {
    int64_t sum = 0;
    for (node *node = disk->nodes; node; node = node->next) {
        if (!node->is_deleted) sum += node->seen.size;
    }
    return sum;
}

/* Power cuts. */

/* Returns the percentage of unsynced sectors that survive. */
static uint64_t share(disk *disk) {
    static const uint64_t shares[] = {0, 0, 100, 50, 10, 90};
    return shares[roll(disk, sizeof shares / sizeof *shares)];
}

static void choose(disk *disk, node *node, content *left) {
    uint64_t through = share(disk);
    copy(left, &node->synced);
    int64_t sectors = (node->seen.size + SECTOR - 1) / SECTOR;
    if (roll(disk, 100) < through) resize(left, node->seen.size);
    for (int64_t sector = 0; sector < sectors && sector < node->sectors; sector++) {
        if (!node->dirty[sector] || roll(disk, 100) >= through) continue;
        int64_t start = sector * SECTOR;
        int64_t end = start + SECTOR < node->seen.size ? start + SECTOR : node->seen.size;
        if (end > left->size) resize(left, end);
        memcpy(left->bytes + start, node->seen.bytes + start, (size_t)(end - start));
    }
}

static void write_file(const char *path, const content *content) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) stop("a file can't be written");
    int64_t done = 0;
    while (done < content->size) {
        ssize_t count = pwrite(file, content->bytes + done, (size_t)(content->size - done), done);
        if (count <= 0) stop("a file can't be written");
        done += count;
    }
    close(file);
}

/* Writes what is left of each file. A deleted file may come back, unless another file
   has taken its name. */
static void write_rest(disk *disk, const char *folder) {
    for (node *node = disk->nodes; node; node = node->next) {
        int is_there = node->has_name && !node->is_deleted;
        if (!node->has_name || node->is_deleted) is_there = roll(disk, 2) == 0;
        if (!is_there) continue;
        if (node->is_deleted && node_at(disk, node->path)) continue;
        content left = {0};
        choose(disk, node, &left);
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s", folder, node->path + disk->folder_length);
        write_file(path, &left);
        free(left.bytes);
    }
}

static void take_image(disk *disk) {
    char folder[PATH_MAX];
    disk->images++;
    snprintf(folder, sizeof folder, "%s-%lld", disk->folder, (long long)disk->images);
    if (mkdir(folder, 0700) != 0) stop("the folder of an image can't be made");
    write_rest(disk, folder);
}

static void unlink_all(disk *disk) {
    char path[PATH_MAX];
    for (node *node = disk->nodes; node; node = node->next) {
        unlink(node->path);
        /* The shared memory of a database is lost, too. */
        snprintf(path, sizeof path, "%s-shm", node->path);
        unlink(path);
    }
}

static void cut(disk *disk) {
    if (disk->cut_kills) {
        unlink_all(disk);
        write_rest(disk, disk->folder);
        kill(getpid(), SIGKILL);
    }
    disk->is_cut = 1;
}

static int position(int call) {
    int position = 0;
    while (call > 1) call >>= 1, position++;
    return position;
}

int call_fails(disk *disk, int call) {
    disk->counts[position(call)]++;
    if (!disk->is_cut && (disk->image_calls & call) && roll(disk, disk->image_one_in) == 0) take_image(disk);
    if (!disk->is_cut && (disk->cut_calls & call) && --disk->cut_in == 0) cut(disk);
    if (disk->is_cut) {
        errno = EIO;
        return 1;
    }
    if (!(disk->fail_calls & call)) return 0;
    if (disk->fail_in > 0) disk->fail_in--;
    int fails = disk->fail_in == 0;
    if (!fails) return 0;
    if (!disk->is_lasting) disk->fail_calls = 0;
    disk->failed++;
    errno = disk->fault == FAULTVFS_NO_SPACE ? ENOSPC : EIO;
    return 1;
}

/* Functions for tests. */

disk *disk_of(const char *path) {
    disk *found = NULL;
    pthread_mutex_lock(&disks_lock);
    for (int number = 0; path && !found && number < MOST_DISKS; number++) {
        disk *disk = disks[number];
        if (disk && strncmp(path, disk->folder, disk->folder_length) == 0 && path[disk->folder_length] == '/') {
            found = disk;
        }
    }
    pthread_mutex_unlock(&disks_lock);
    return found;
}

static disk *locked(int number) {
    pthread_mutex_lock(&disks_lock);
    disk *disk = disks[number];
    pthread_mutex_unlock(&disks_lock);
    if (!disk) stop("unknown disk");
    pthread_mutex_lock(&disk->lock);
    return disk;
}

/* Defined in vfs.c. */
void faultvfs_register(void);

int faultvfs_attach(const char *folder, uint64_t seed) {
    faultvfs_register();
    disk *disk = grown(NULL, sizeof *disk);
    memset(disk, 0, sizeof *disk);
    pthread_mutex_init(&disk->lock, NULL);
    disk->folder = realpath(folder, NULL);
    if (!disk->folder) stop("the folder does not exist");
    disk->folder_length = strlen(disk->folder);
    disk->chance = seed;
    disk->limit = -1;
    int number = 0;
    pthread_mutex_lock(&disks_lock);
    while (number < MOST_DISKS && disks[number]) number++;
    if (number < MOST_DISKS) disks[number] = disk;
    pthread_mutex_unlock(&disks_lock);
    return number < MOST_DISKS ? number : -1;
}

void faultvfs_detach(int number) {
    disk *disk = locked(number);
    if (disk->opened > 0) stop("files of a disk that is to be forgotten are open");
    pthread_mutex_lock(&disks_lock);
    disks[number] = NULL;
    pthread_mutex_unlock(&disks_lock);
    while (disk->nodes) forget_node(disk, disk->nodes);
    pthread_mutex_unlock(&disk->lock);
    pthread_mutex_destroy(&disk->lock);
    free(disk->folder);
    free(disk);
}

void faultvfs_fail(int number, int calls, int64_t nth, int fault, int lasting) {
    disk *disk = locked(number);
    disk->fail_calls = nth > 0 ? calls : 0;
    disk->fail_in = nth;
    disk->fault = fault;
    disk->is_lasting = lasting;
    disk->failed = 0;
    pthread_mutex_unlock(&disk->lock);
}

int64_t faultvfs_failed(int number) {
    disk *disk = locked(number);
    int64_t failed = disk->failed;
    pthread_mutex_unlock(&disk->lock);
    return failed;
}

int64_t faultvfs_calls(int number, int calls) {
    disk *disk = locked(number);
    int64_t sum = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (calls & (1 << kind)) sum += disk->counts[kind];
    }
    pthread_mutex_unlock(&disk->lock);
    return sum;
}

int64_t faultvfs_bytes(int number) {
    disk *disk = locked(number);
    int64_t bytes = disk_bytes(disk);
    pthread_mutex_unlock(&disk->lock);
    return bytes;
}

void faultvfs_limit(int number, int64_t bytes) {
    disk *disk = locked(number);
    disk->limit = bytes;
    pthread_mutex_unlock(&disk->lock);
}

void faultvfs_take_images(int number, int calls, uint32_t one_in) {
    disk *disk = locked(number);
    disk->image_calls = one_in > 0 ? calls : 0;
    disk->image_one_in = one_in;
    pthread_mutex_unlock(&disk->lock);
}

int64_t faultvfs_take_image(int number) {
    disk *disk = locked(number);
    take_image(disk);
    int64_t images = disk->images;
    pthread_mutex_unlock(&disk->lock);
    return images;
}

int64_t faultvfs_images(int number) {
    disk *disk = locked(number);
    int64_t images = disk->images;
    pthread_mutex_unlock(&disk->lock);
    return images;
}

void faultvfs_cut(int number, int calls, int64_t nth) {
    disk *disk = locked(number);
    disk->cut_calls = nth > 0 ? calls : 0;
    disk->cut_in = nth;
    if (nth == 0) cut(disk);
    pthread_mutex_unlock(&disk->lock);
}

int faultvfs_is_cut(int number) {
    disk *disk = locked(number);
    int is_cut = disk->is_cut;
    pthread_mutex_unlock(&disk->lock);
    return is_cut;
}

void faultvfs_cut_kills(int number) {
    disk *disk = locked(number);
    disk->cut_kills = 1;
    pthread_mutex_unlock(&disk->lock);
}

int faultvfs_restart(int number) {
    disk *disk = locked(number);
    int can_start = disk->opened == 0;
    if (can_start) {
        unlink_all(disk);
        write_rest(disk, disk->folder);
        while (disk->nodes) forget_node(disk, disk->nodes);
        disk->is_cut = 0;
        disk->cut_calls = 0;
        disk->fail_calls = 0;
    }
    pthread_mutex_unlock(&disk->lock);
    return can_start;
}

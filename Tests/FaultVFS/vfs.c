/* The VFS that SQLite calls. It forwards calls that it does not simulate. */
#include <errno.h>
#include <string.h>

#include "disk.h"

/* Followed in memory by the file of the default VFS, which holds the locks. */
typedef struct file {
    sqlite3_file base;
    disk *disk;
    node *node;
    /* The first sync of a new WAL or journal syncs the folder, too. */
    int syncs_names;
} file;

enum { OWN_SIZE = (sizeof(file) + 15) / 16 * 16 };

static sqlite3_vfs *under;

/* Defined in preload.c. */
int faultvfs_has_room(void);

static sqlite3_file *real(sqlite3_file *base) { return (sqlite3_file *)((char *)base + OWN_SIZE); }

static int fails(sqlite3_file *base, int call) {
    file *file = (struct file *)base;
    pthread_mutex_lock(&file->disk->lock);
    int result = call_fails(file->disk, call);
    pthread_mutex_unlock(&file->disk->lock);
    return result;
}

static int fault_close(sqlite3_file *base) {
    file *file = (struct file *)base;
    int code = real(base)->pMethods->xClose(real(base));
    pthread_mutex_lock(&file->disk->lock);
    file->disk->opened--;
    file->node->opened--;
    pthread_mutex_unlock(&file->disk->lock);
    return code;
}

static int fault_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    file *file = (struct file *)base;
    disk *disk = file->disk;
    pthread_mutex_lock(&disk->lock);
    int code = SQLITE_OK;
    if (call_fails(disk, FAULTVFS_READ)) {
        code = SQLITE_IOERR_READ;
    } else {
        const content *content = &file->node->seen;
        int64_t there = content->size - offset;
        if (there < 0) there = 0;
        if (there > count) there = count;
        if (there > 0) memcpy(bytes, content->bytes + offset, (size_t)there);
        if (there < count) {
            memset((char *)bytes + there, 0, (size_t)(count - there));
            code = SQLITE_IOERR_SHORT_READ;
        }
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    file *file = (struct file *)base;
    disk *disk = file->disk;
    pthread_mutex_lock(&disk->lock);
    if (faultvfs_has_room()) disk->limit = -1;
    int code = SQLITE_OK;
    int64_t growth = offset + count - file->node->seen.size;
    if (call_fails(disk, FAULTVFS_WRITE)) {
        code = errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        if (!disk->is_cut && disk->fault == FAULTVFS_SHORT) node_write(file->node, bytes, count / 2, offset);
    } else if (disk->limit >= 0 && growth > 0 && disk_bytes(disk) + growth > disk->limit) {
        /* Write as much as there is space for. */
        int64_t fits = count - growth + (disk->limit - disk_bytes(disk));
        if (fits > 0) node_write(file->node, bytes, fits < count ? fits : count, offset);
        errno = ENOSPC;
        code = SQLITE_FULL;
    } else {
        node_write(file->node, bytes, count, offset);
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_truncate(sqlite3_file *base, sqlite3_int64 size) {
    file *file = (struct file *)base;
    pthread_mutex_lock(&file->disk->lock);
    int code = SQLITE_OK;
    if (call_fails(file->disk, FAULTVFS_TRUNCATE)) {
        code = SQLITE_IOERR_TRUNCATE;
    } else {
        node_truncate(file->node, size);
    }
    pthread_mutex_unlock(&file->disk->lock);
    return code;
}

/* Writes changed sectors to the real file, for processes that read it later. */
static int write_through(node *node, sqlite3_file *real) {
    int code = SQLITE_OK;
    if (node->synced.size > node->seen.size) code = real->pMethods->xTruncate(real, node->seen.size);
    for (int64_t sector = 0; code == SQLITE_OK && sector < node->sectors; sector++) {
        int64_t start = sector * SECTOR;
        if (!node->dirty[sector] || start >= node->seen.size) continue;
        int64_t end = start;
        /* The default VFS writes a length of 128 KiB as if it were 0. */
        while (sector < node->sectors && node->dirty[sector] && end < node->seen.size && end - start < 65536) {
            end += SECTOR;
            sector++;
        }
        sector--;
        if (end > node->seen.size) end = node->seen.size;
        code = real->pMethods->xWrite(real, node->seen.bytes + start, (int)(end - start), start);
    }
    return code;
}

static int fault_sync(sqlite3_file *base, int flags) {
    (void)flags;
    file *file = (struct file *)base;
    disk *disk = file->disk;
    pthread_mutex_lock(&disk->lock);
    int code = SQLITE_OK;
    if (call_fails(disk, FAULTVFS_SYNC)) {
        code = SQLITE_IOERR_FSYNC;
    } else {
        code = write_through(file->node, real(base));
        node_synced(file->node);
        if (file->syncs_names) {
            sync_names(disk);
            file->syncs_names = 0;
        }
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_size(sqlite3_file *base, sqlite3_int64 *size) {
    file *file = (struct file *)base;
    pthread_mutex_lock(&file->disk->lock);
    int code = call_fails(file->disk, FAULTVFS_SIZE) ? SQLITE_IOERR_FSTAT : SQLITE_OK;
    *size = file->node->seen.size;
    pthread_mutex_unlock(&file->disk->lock);
    return code;
}

static int fault_lock(sqlite3_file *base, int level) {
    if (fails(base, FAULTVFS_LOCK)) return SQLITE_IOERR_LOCK;
    return real(base)->pMethods->xLock(real(base), level);
}

static int fault_unlock(sqlite3_file *base, int level) {
    return real(base)->pMethods->xUnlock(real(base), level);
}

static int fault_check_lock(sqlite3_file *base, int *result) {
    if (fails(base, FAULTVFS_LOCK)) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return real(base)->pMethods->xCheckReservedLock(real(base), result);
}

static int fault_control(sqlite3_file *base, int operation, void *argument) {
    switch (operation) {
        /* These would change the real file. */
        case SQLITE_FCNTL_SIZE_HINT:
        case SQLITE_FCNTL_CHUNK_SIZE:
        case SQLITE_FCNTL_MMAP_SIZE: return SQLITE_NOTFOUND;
        default: return real(base)->pMethods->xFileControl(real(base), operation, argument);
    }
}

static int fault_sector_size(sqlite3_file *base) { return real(base)->pMethods->xSectorSize(real(base)); }

static int fault_characteristics(sqlite3_file *base) {
    return real(base)->pMethods->xDeviceCharacteristics(real(base));
}

static int fault_memory_map(sqlite3_file *base, int page, int size, int extends, void volatile **memory) {
    if (fails(base, FAULTVFS_SHARED_MEMORY)) {
        *memory = NULL;
        return SQLITE_IOERR_SHMMAP;
    }
    return real(base)->pMethods->xShmMap(real(base), page, size, extends, memory);
}

static int fault_memory_lock(sqlite3_file *base, int offset, int count, int flags) {
    if ((flags & SQLITE_SHM_LOCK) && fails(base, FAULTVFS_SHARED_MEMORY)) return SQLITE_IOERR_SHMLOCK;
    return real(base)->pMethods->xShmLock(real(base), offset, count, flags);
}

static void fault_memory_barrier(sqlite3_file *base) { real(base)->pMethods->xShmBarrier(real(base)); }

static int fault_memory_unmap(sqlite3_file *base, int deletes) {
    return real(base)->pMethods->xShmUnmap(real(base), deletes);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_characteristics,
    .xShmMap = fault_memory_map,
    .xShmLock = fault_memory_lock,
    .xShmBarrier = fault_memory_barrier,
    .xShmUnmap = fault_memory_unmap,
};

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *flags_out) {
    (void)vfs;
    disk *disk = flags & SQLITE_OPEN_DELETEONCLOSE ? NULL : disk_of(path);
    if (!disk) return under->xOpen(under, path, base, flags, flags_out);

    file *file = (struct file *)base;
    memset(file, 0, OWN_SIZE);
    pthread_mutex_lock(&disk->lock);
    int code = call_fails(disk, FAULTVFS_OPEN) ? SQLITE_CANTOPEN : SQLITE_OK;
    node *node = node_at(disk, path);
    if (code == SQLITE_OK) {
        /* Read the file before it is opened: make_node closes it again, which would release the locks on it. */
        if (!node) node = make_node(disk, path);
        code = under->xOpen(under, path, real(base), flags, flags_out);
        if (code != SQLITE_OK && node->opened == 0 && node->synced.size == 0 && node->seen.size == 0) {
            forget_node(disk, node);
        }
    }
    if (code == SQLITE_OK) {
        int is_log = flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL);
        file->base.pMethods = &methods;
        file->disk = disk;
        file->node = node;
        file->syncs_names = is_log && (flags & SQLITE_OPEN_CREATE);
        disk->opened++;
        node->opened++;
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int syncs_names) {
    (void)vfs;
    disk *disk = disk_of(path);
    if (!disk) return under->xDelete(under, path, syncs_names);
    pthread_mutex_lock(&disk->lock);
    int code = SQLITE_IOERR_DELETE;
    if (!call_fails(disk, FAULTVFS_DELETE)) {
        code = under->xDelete(under, path, 0);
        node *node = node_at(disk, path);
        if (code == SQLITE_OK && node) {
            if (node->has_name) {
                node->is_deleted = 1;
            } else if (node->opened == 0) {
                forget_node(disk, node);
            }
        }
        if (syncs_names) sync_names(disk);
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    disk *disk = disk_of(path);
    if (!disk) return under->xAccess(under, path, flags, result);
    pthread_mutex_lock(&disk->lock);
    int code = call_fails(disk, FAULTVFS_ACCESS) ? SQLITE_IOERR_ACCESS : SQLITE_OK;
    node *node = node_at(disk, path);
    if (code == SQLITE_OK && node && flags == SQLITE_ACCESS_EXISTS) {
        /* The real file may still be empty. SQLite treats an empty file as missing. */
        *result = node->seen.size > 0;
    } else if (code == SQLITE_OK) {
        code = under->xAccess(under, path, flags, result);
    }
    pthread_mutex_unlock(&disk->lock);
    return code;
}

static int fault_full_path(sqlite3_vfs *vfs, const char *path, int size, char *result) {
    (void)vfs;
    return under->xFullPathname(under, path, size, result);
}

static void *fault_library_open(sqlite3_vfs *vfs, const char *path) {
    (void)vfs;
    return under->xDlOpen(under, path);
}

static void fault_library_error(sqlite3_vfs *vfs, int size, char *words) {
    (void)vfs;
    under->xDlError(under, size, words);
}

static void (*fault_library_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
    (void)vfs;
    return under->xDlSym(under, library, name);
}

static void fault_library_close(sqlite3_vfs *vfs, void *library) {
    (void)vfs;
    under->xDlClose(under, library);
}

static int fault_randomness(sqlite3_vfs *vfs, int size, char *bytes) {
    (void)vfs;
    return under->xRandomness(under, size, bytes);
}

static int fault_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return under->xSleep(under, microseconds);
}

static int fault_time(sqlite3_vfs *vfs, double *time) {
    (void)vfs;
    return under->xCurrentTime(under, time);
}

static int fault_time_64(sqlite3_vfs *vfs, sqlite3_int64 *time) {
    (void)vfs;
    return under->xCurrentTimeInt64(under, time);
}

static int fault_last_error(sqlite3_vfs *vfs, int size, char *words) {
    (void)vfs;
    return under->xGetLastError(under, size, words);
}

static sqlite3_vfs vfs = {
    .iVersion = 2,
    .zName = "fault",
    .xOpen = fault_open,
    .xDelete = fault_delete,
    .xAccess = fault_access,
    .xFullPathname = fault_full_path,
    .xDlOpen = fault_library_open,
    .xDlError = fault_library_error,
    .xDlSym = fault_library_symbol,
    .xDlClose = fault_library_close,
    .xRandomness = fault_randomness,
    .xSleep = fault_sleep,
    .xCurrentTime = fault_time,
    .xGetLastError = fault_last_error,
    .xCurrentTimeInt64 = fault_time_64,
};

static void register_once(void) {
    under = sqlite3_vfs_find(NULL);
    vfs.szOsFile = OWN_SIZE + under->szOsFile;
    vfs.mxPathname = under->mxPathname;
    sqlite3_vfs_register(&vfs, 1);
}

/* Registers the VFS as the default of all connections. */
void faultvfs_register(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
}

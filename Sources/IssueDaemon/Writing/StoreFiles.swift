import UnixIO

/// The files of a database that SQLite keeps beside each other.
enum StoreFiles {
    /// Removes a database with all that belongs to it.
    static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileSystem.remove(path + ending) }
    }
}

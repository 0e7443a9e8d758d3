import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// How the store is opened, whatever lies on the disk.
///
/// A file that can't be used is set aside with its log, untouched, and
/// collecting goes on in a new one: the daemon never refuses to start for it.
struct StoreOpening: Sendable {
    var path: String
    var limits: LimitSettings
    var retention: RetentionSettings

    func open(log: Log) throws(StoreFailure) -> StoreWriter {
        do throws(StoreFailure) {
            return try StoreWriter(settings)
        } catch .damaged(let error) {
            log.error("The database is damaged, setting it aside and going on in a new one", ["error": "\(error)"])
        } catch .foreign(let words) {
            log.error("The database is not ours to use, setting it aside and going on in a new one", ["error": words])
        } catch {
            throw error
        }
        setAside(log: log)
        return try StoreWriter(settings)
    }

    private var settings: IssueStore.StoreSettings {
        IssueStore.StoreSettings(
            path: path, limits: limits, retention: retention, randomBits: { Randomness.uint64() })
    }

    /// Moves the file and its log out of the way; whoever has it open goes on with what was moved.
    func setAside(log: Log) {
        let name = "\(path).damaged-\(Clock.wall.text)"
        for ending in ["", "-wal", "-shm"] {
            do throws(Errno) {
                try FileSystem.rename(path + ending, to: name + ending)
            } catch .noSuchFile {
                continue
            } catch {
                log.error("A file could not be set aside", ["file": path + ending, "error": "\(error)"])
            }
        }
        log.notice("The old database is kept", ["file": name])
    }
}

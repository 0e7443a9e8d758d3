import Synchronization
import UnixIO

/// Keeps a second daemon from the store: both would give out the same ids.
///
/// It is held from the first opening to the end of the process. A lock that
/// can't be had for another reason, as on a disk that is full, is no reason not
/// to collect.
final class StoreLock: Sendable {
    private struct Held: ~Copyable {
        let path: String
        let lock: FileLock
    }

    private let held = Mutex<Held?>(nil)

    /// Whether the store at a path is not another daemon's.
    func take(_ path: String) -> Bool {
        held.withLock { held in
            if held?.path == path { return true }
            do throws(Errno) {
                held = Held(path: path, lock: try FileLock(path + ".lock"))
            } catch .wouldBlock {
                return false
            } catch {
                return true
            }
            return true
        }
    }
}

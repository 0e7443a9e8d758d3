import FaultVFS
import Foundation

/// A folder whose file accesses fail on demand. Its files lose unsynced data when the power is cut.
///
/// Random decisions are reproducible with the same seed.
final class FaultDisk {
    struct Calls: OptionSet {
        let rawValue: Int

        static let write = Calls(rawValue: FAULTVFS_WRITE)
        static let sync = Calls(rawValue: FAULTVFS_SYNC)
        static let truncate = Calls(rawValue: FAULTVFS_TRUNCATE)
        static let delete = Calls(rawValue: FAULTVFS_DELETE)
        static let all = Calls(rawValue: FAULTVFS_ALL)
        /// The calls that change the content of the disk.
        static let changes: Calls = [.write, .sync, .truncate, .delete]
    }

    enum Fault: CaseIterable {
        case error, noSpace, halfWritten

        fileprivate var code: Int32 {
            switch self {
            case .error: Int32(FAULTVFS_ERROR)
            case .noSpace: Int32(FAULTVFS_NO_SPACE)
            case .halfWritten: Int32(FAULTVFS_SHORT)
            }
        }
    }

    let folder: String
    private let number: Int32

    private init(folder: String, seed: UInt64) {
        self.folder = folder
        number = unsafe faultvfs_attach(folder, seed)
        precondition(number >= 0, "There are too many disks")
    }

    /// Runs `body` with a disk in a folder. `body` must close all files of the disk before it returns.
    static func with<Value>(_ folder: String, seed: UInt64, _ body: (FaultDisk) throws -> Value) throws -> Value {
        let disk = FaultDisk(folder: folder, seed: seed)
        defer { faultvfs_detach(disk.number) }
        return try body(disk)
    }

    /// Makes the nth of these calls fail, counted from 1 and from now on, and all later ones if `lasts` is `true`.
    func fail(_ nth: Int, of calls: Calls = .all, with fault: Fault, lasts: Bool = false) {
        faultvfs_fail(number, Int32(calls.rawValue), Int64(nth), fault.code, lasts ? 1 : 0)
    }

    /// Stops all failures.
    func stopFailing() { faultvfs_fail(number, 0, 0, 0, 0) }

    /// The number of calls that have failed since the last `fail`.
    var failed: Int { Int(faultvfs_failed(number)) }

    /// Returns the number of these calls so far.
    func calls(_ calls: Calls) -> Int { Int(faultvfs_calls(number, Int32(calls.rawValue))) }

    /// Limits by how many bytes all files together may grow, or removes the limit if `bytes` is nil.
    func limitGrowth(to bytes: Int64?) {
        faultvfs_limit(number, bytes.map { faultvfs_bytes(number) + $0 } ?? -1)
    }

    /// Takes an image of what a power cut would leave, before each of these calls with a probability of 1 / `share`.
    func takeImages(before calls: Calls, oneIn share: UInt32 = 1) {
        faultvfs_take_images(number, Int32(calls.rawValue), share)
    }

    func takeNoImages() { faultvfs_take_images(number, 0, 0) }

    /// Takes an image now, and returns its folder.
    func image() -> String { folder(ofImage: Int(faultvfs_take_image(number))) }

    var images: Int { Int(faultvfs_images(number)) }

    func folder(ofImage image: Int) -> String { "\(folder)-\(image)" }

    /// Cuts the power before the nth of these calls from now on.
    func cut(before nth: Int, of calls: Calls) { faultvfs_cut(number, Int32(calls.rawValue), Int64(nth)) }

    func cutNow() { faultvfs_cut(number, 0, 0) }

    var isCut: Bool { faultvfs_is_cut(number) != 0 }

    /// Restarts with the data that the power cut has left. If the power was not cut, this call cuts it. All files must
    /// be closed.
    func restart() { precondition(faultvfs_restart(number) != 0, "A file is still open") }
}

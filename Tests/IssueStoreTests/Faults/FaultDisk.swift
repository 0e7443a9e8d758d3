import FaultVFS
import Foundation

/// A folder whose files fail as a test says, and lose what was not synced when the power is cut.
///
/// What it does by chance it does again for the same seed.
final class FaultDisk {
    struct Calls: OptionSet {
        let rawValue: Int

        static let write = Calls(rawValue: FAULTVFS_WRITE)
        static let sync = Calls(rawValue: FAULTVFS_SYNC)
        static let truncate = Calls(rawValue: FAULTVFS_TRUNCATE)
        static let delete = Calls(rawValue: FAULTVFS_DELETE)
        static let all = Calls(rawValue: FAULTVFS_ALL)
        /// The calls that change what is on the disk.
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

    /// Lends a disk under a folder; its files are closed when the body ends.
    static func with<Value>(_ folder: String, seed: UInt64, _ body: (FaultDisk) throws -> Value) throws -> Value {
        let disk = FaultDisk(folder: folder, seed: seed)
        defer { faultvfs_detach(disk.number) }
        return try body(disk)
    }

    /// Lets the nth of these calls fail, counted from now, and if it lasts all behind it.
    func fail(_ nth: Int, of calls: Calls = .all, with fault: Fault, lasts: Bool = false) {
        faultvfs_fail(number, Int32(calls.rawValue), Int64(nth), fault.code, lasts ? 1 : 0)
    }

    /// Lets all calls do again what they should.
    func mend() { faultvfs_fail(number, 0, 0, 0, 0) }

    /// How many calls have failed since it was said which are to.
    var failed: Int { Int(faultvfs_failed(number)) }

    func calls(_ calls: Calls) -> Int { Int(faultvfs_calls(number, Int32(calls.rawValue))) }

    /// Lets the files grow by no more than so many bytes, or by as many as they like.
    func limitGrowth(to bytes: Int64?) {
        faultvfs_limit(number, bytes.map { faultvfs_bytes(number) + $0 } ?? -1)
    }

    /// Takes an image of what a power cut would leave before one in so many of these calls.
    func takeImages(before calls: Calls, oneIn share: UInt32 = 1) {
        faultvfs_take_images(number, Int32(calls.rawValue), share)
    }

    func takeNoImages() { faultvfs_take_images(number, 0, 0) }

    /// Takes an image now, and answers its folder.
    func image() -> String { folder(ofImage: Int(faultvfs_take_image(number))) }

    var images: Int { Int(faultvfs_images(number)) }

    func folder(ofImage image: Int) -> String { "\(folder)-\(image)" }

    /// Cuts the power before the nth of these calls, counted from now.
    func cut(before nth: Int, of calls: Calls) { faultvfs_cut(number, Int32(calls.rawValue), Int64(nth)) }

    func cutNow() { faultvfs_cut(number, 0, 0) }

    var isCut: Bool { faultvfs_is_cut(number) != 0 }

    /// Starts again with what the cut has left; all files must be closed.
    func restart() { precondition(faultvfs_restart(number) != 0, "A file is still open") }
}

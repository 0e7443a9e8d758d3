internal import IssueWire
internal import Synchronization
internal import UnixIO

/// Which reports include a backtrace: none, those of level `error` or higher, or all.
package enum BacktraceChoice: String, CaseIterable, Sendable {
    case none
    case error
    case all

    /// The maximum number of frames in a report. A frame takes about a hundred bytes.
    static let limit = 16

    func isWanted(for level: IssueLevel) -> Bool {
        switch self {
        case .none: false
        case .error: level >= .error
        case .all: true
        }
    }

    /// Returns up to ``limit`` return addresses of this thread's calls above a mark, innermost first; none if reports
    /// of this level include no backtrace.
    static func addresses(for level: IssueLevel, above mark: CallStack.Mark) -> [UInt] {
        guard ProcessSettings.shared.backtrace.isWanted(for: level) else { return [] }
        return CallStack.returnAddresses(above: mark, atMost: limit)
    }
}

/// Maps code addresses to images and offsets.
///
/// A reporting thread only records the addresses. They are looked up when the report is encoded.
final class ImageMap: Sendable {
    static let process = ImageMap()

    private static let capacity = 4096
    private let state = Mutex(State())

    /// Returns the frames of return addresses. An address outside all images is omitted.
    func frames(of addresses: [UInt]) -> [BacktraceFrame] {
        guard !addresses.isEmpty else { return [] }
        if let frames = state.withLockIfAvailable({ $0.frames(of: addresses) }) { return frames }
        // Another thread holds the lock. After a fork, this may be a thread of the parent, which does not exist here
        // and never releases the lock.
        var own = State()
        return own.frames(of: addresses)
    }

    private struct State: Sendable {
        var images: [LoadedImage] = []
        var generation: UInt64?
        // A cache. It stays small because a program reports from few locations.
        var known: [UInt: BacktraceFrame] = [:]

        mutating func frames(of addresses: [UInt]) -> [BacktraceFrame] {
            let now = LoadedImage.generation
            if generation != now { self = Self(images: LoadedImage.all, generation: now) }
            return addresses.compactMap { address in
                let frame = known[address] ?? frame(of: address)
                if known.count >= ImageMap.capacity { known = [:] }
                known[address] = frame
                return frame
            }
        }

        private func frame(of address: UInt) -> BacktraceFrame? {
            guard let image = images.first(where: { $0.code.contains(address) }) else { return nil }
            let path = image.path.isEmpty ? CurrentProcess.executable ?? "" : image.path
            return BacktraceFrame(
                image: path.split(separator: "/").last.map(String.init), buildID: image.buildID,
                offset: UInt64(address - image.base))
        }
    }
}

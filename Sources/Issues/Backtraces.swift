internal import IssueWire
internal import Synchronization
internal import UnixIO

/// Which reports come with where they were reported from.
package enum BacktraceChoice: String, CaseIterable, Sendable {
    case none
    case error
    case all

    /// Frames of a report; a frame takes about a hundred bytes.
    static let limit = 16

    func isWanted(for level: IssueLevel) -> Bool {
        switch self {
        case .none: false
        case .error: level >= .error
        case .all: true
        }
    }

    /// The calls under way on this thread that led to a mark, if a report of this level is to have them.
    static func addresses(for level: IssueLevel, above mark: CallStack.Mark) -> [UInt] {
        guard ProcessSettings.shared.backtrace.isWanted(for: level) else { return [] }
        return CallStack.returnAddresses(above: mark, atMost: limit)
    }
}

/// Says of an address in which image it lies, and where.
///
/// Asked by the thread that sends; whoever reports only notes addresses.
final class ImageMap: Sendable {
    static let process = ImageMap()

    fileprivate struct State: Sendable {
        var images: [LoadedImage] = []
        var generation: UInt64?
        // A program reports from few places.
        var known: [UInt: Frame] = [:]
    }

    fileprivate static let capacity = 4096
    private let state = Mutex(State())

    /// The frames of addresses that a call returns to; one that lies nowhere is left out.
    func frames(of addresses: [UInt]) -> [Frame] {
        guard !addresses.isEmpty else { return [] }
        if let frames = state.withLockIfAvailable({ $0.frames(of: addresses) }) { return frames }
        // Another thread looks as well; or one did when this process was forked off, and will never end.
        var own = State()
        return own.frames(of: addresses)
    }
}

extension ImageMap.State {
    fileprivate mutating func frames(of addresses: [UInt]) -> [Frame] {
        let now = LoadedImage.generation
        if generation != now { self = Self(images: LoadedImage.all, generation: now) }
        var frames: [Frame] = []
        for address in addresses {
            let frame = known[address] ?? frame(of: address)
            if known.count >= ImageMap.capacity { known = [:] }
            known[address] = frame
            if let frame { frames.append(frame) }
        }
        return frames
    }
}

extension ImageMap.State {
    fileprivate func frame(of address: UInt) -> Frame? {
        guard let image = images.first(where: { $0.code.contains(address) }) else { return nil }
        let path = image.path.isEmpty ? CurrentProcess.executable ?? "" : image.path
        return Frame(
            image: path.split(separator: "/").last.map(String.init), buildID: image.buildID,
            offset: Int64(clamping: address - image.base))
    }
}

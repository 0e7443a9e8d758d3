internal import IssueProtocol
internal import Synchronization
internal import UnixIO

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

    private static let capacity = 4096
    private let state = Mutex(State())

    /// The frames of addresses that a call returns to; one that lies nowhere is left out.
    func frames(of addresses: [UInt]) -> [Frame] {
        guard !addresses.isEmpty else { return [] }
        return state.withLock { state in
            let generation = LoadedImage.generation
            if state.generation != generation {
                state = State(images: LoadedImage.all, generation: generation)
            }
            return addresses.compactMap { address in
                if let frame = state.known[address] { return frame }
                let frame = state.frame(of: address)
                if state.known.count >= Self.capacity { state.known = [:] }
                state.known[address] = frame
                return frame
            }
        }
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

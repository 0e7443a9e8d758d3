import Synchronization

/// Whether the threads that must not stand still have answered since they were asked last.
final class Pulse: Sendable {
    enum Part: Hashable, Sendable, CaseIterable {
        case socket
        case writer
    }

    private let missing = Mutex(Set<Part>())

    /// Asks anew; answers whether all have answered before.
    func ask() -> Bool {
        missing.withLock { missing in
            let isWell = missing.isEmpty
            missing = Set(Part.allCases)
            return isWell
        }
    }

    func beat(_ part: Part) {
        missing.withLock { _ = $0.remove(part) }
    }
}

import Synchronization

/// The level from which on lines are written, shared by all who hold the log.
final class LogThreshold: Sendable {
    private let priority: Atomic<UInt8>

    init(_ level: LogLevel) {
        priority = Atomic(level.priority)
    }

    func set(_ level: LogLevel) {
        priority.store(level.priority, ordering: .relaxed)
    }

    func admits(_ level: LogLevel) -> Bool {
        level.priority <= priority.load(ordering: .relaxed)
    }
}

internal import IssueWire
internal import UnixIO

/// Sends what an earlier run has left behind, on a connection of its own.
struct SpillPickup {
    private let folder: SpillFolder
    private let path: String
    private let delivery: Delivery

    private static let attempts = 20
    private static let longestPause: Duration = .seconds(10)
    // Larger than any call.
    private static let fileLimit = 4 << 20

    init(folder: SpillFolder, socket path: String, delivery: Delivery) {
        self.folder = folder
        self.path = path
        self.delivery = delivery
    }

    /// Sends all there is, call by call; a file goes when it was answered, and otherwise stays for the next run.
    func run() {
        guard !folder.files.isEmpty, let lock = folder.lock() else { return }
        let lost = folder.takeLost()
        if lost > 0 { delivery.state.withLock { $0.outbox.lost(lost) } }
        var files = folder.files[...]
        while !files.isEmpty, !isStopped, var connection = try? CollectorConnection(paths: [path]) {
            conversation: while let file = files.first {
                guard let call = try? FileSystem.read(file.path, limit: Self.fileLimit) else { return }
                switch send(call, on: &connection) {
                case .taken: break
                case .never:
                    // Behind a refused number only a new connection goes on.
                    _ = files.popFirst()
                    try? FileSystem.remove(file.path)
                    break conversation
                case .later: return
                }
                _ = files.popFirst()
                try? FileSystem.remove(file.path)
            }
        }
        _ = consume lock
    }

    private enum Outcome {
        case taken
        case never
        case later
    }

    private func send(_ call: [UInt8], on connection: inout CollectorConnection) -> Outcome {
        for _ in 0..<Self.attempts {
            guard !isStopped, let reply = try? connection.exchange(call, timeout: .seconds(45)) else { return .later }
            switch ReportAnswer(reply) {
            case .receipts: return .taken
            case .tooLarge, .refused: return .never
            case .malformed: return .later
            case .later(let delay):
                guard pause(min(delay ?? .seconds(1), Self.longestPause)) else { return .later }
            }
        }
        return .later
    }

    private var isStopped: Bool { delivery.state.withLock { $0.isStopped } }

    /// Waits; false where delivery ends meanwhile.
    private func pause(_ time: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        return Forks.admitted {
            delivery.state.wait(deadline: deadline) { state -> Bool? in state.isStopped ? true : nil } == nil
        }
    }
}

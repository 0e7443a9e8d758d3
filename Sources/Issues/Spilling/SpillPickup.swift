internal import IssueWire
internal import UnixIO

/// Sends what an earlier run has left behind, on a connection of its own.
package struct SpillPickup: Sendable {
    private let folder: SpillFolder
    private let paths: [String]
    private let trust: ServerTrust
    private let patience: Duration
    private let isStopped: @Sendable () -> Bool
    private let pause: @Sendable (Duration) -> Bool
    private let tellLost: (@Sendable (Int) -> Void)?

    private static let attempts = 20
    private static let longestPause: Duration = .seconds(10)
    // Larger than any call.
    private static let fileLimit = 4 << 20

    /// - Parameters:
    ///   - folder: Where it lies.
    ///   - paths: Where the daemon's socket may be.
    ///   - trust: Who may serve that.
    ///   - patience: How long to wait for an answer to a call.
    ///   - isStopped: Whether to leave the rest to another run.
    ///   - pause: Waits before a call is retried; returns `false` to leave the rest to another run.
    ///   - tellLost: Is given the number of lost issues; nil leaves the number to a later run.
    package init(
        folder: SpillFolder, sockets paths: [String], trust: ServerTrust, patience: Duration = .seconds(45),
        isStopped: @escaping @Sendable () -> Bool, pause: @escaping @Sendable (Duration) -> Bool,
        tellLost: (@Sendable (Int) -> Void)? = nil
    ) {
        self.folder = folder
        self.paths = paths
        self.trust = trust
        self.patience = patience
        self.isStopped = isStopped
        self.pause = pause
        self.tellLost = tellLost
    }

    /// Sends all there is, call by call; a file goes when it was answered, and otherwise stays for the next run.
    package func run() {
        guard let open = folder.open(), !SpillFolder.files(in: open).isEmpty, let lock = SpillFolder.lock(open) else {
            return
        }
        if let tellLost {
            let lost = SpillFolder.takeLost(in: open)
            if lost > 0 { tellLost(lost) }
        }
        var files = SpillFolder.files(in: open)[...]
        while !files.isEmpty, !isStopped(), var connection = try? CollectorConnection(paths: paths, trust: trust) {
            conversation: while let file = files.first {
                guard let call = try? open.read(file.name, limit: Self.fileLimit) else { return }
                switch send(call, on: &connection) {
                case .taken: break
                case .never:
                    // Behind a refused number only a new connection goes on.
                    _ = files.popFirst()
                    try? open.remove(file.name)
                    break conversation
                case .later: return
                }
                _ = files.popFirst()
                try? open.remove(file.name)
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
            guard !isStopped(), let reply = try? connection.exchange(call, timeout: patience) else { return .later }
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
}

internal import IssueProtocol
internal import UnixIO

/// Sends what an earlier run has left behind, on a connection of its own.
struct SpillPickup {
    private let folder: SpillFolder
    private let path: String
    private let delivery: Delivery

    private static let attempts = 20
    private static let longestPause: Duration = .seconds(10)
    // Larger than any file that a run leaves behind.
    private static let fileLimit = 64 << 20

    init(folder: SpillFolder, socket path: String, delivery: Delivery) {
        self.folder = folder
        self.path = path
        self.delivery = delivery
    }

    /// Sends all there is; a file is gone when all of it was answered, and otherwise stays for the next run.
    func run() {
        guard !folder.files.isEmpty, let lock = folder.lock() else { return }
        let lost = folder.takeLost()
        if lost > 0 { delivery.state.withLock { $0.outbox.lost(lost) } }
        for file in folder.files {
            guard let content = try? FileSystem.read(file.path, limit: Self.fileLimit), send(content) else { break }
            try? FileSystem.remove(file.path)
        }
        _ = consume lock
    }

    private func send(_ content: [UInt8]) -> Bool {
        var calls = content.split(separator: 0).map { Array($0) + [0] }[...]
        while !calls.isEmpty {
            guard !isStopped, var connection = try? CollectorConnection(paths: [path]) else { return false }
            var failures = 0
            conversation: while let call = calls.first {
                guard let reply = try? connection.exchange(call, timeout: .seconds(45)) else { return false }
                switch ReportAnswer(reply) {
                case .receipts: calls.removeFirst()
                case .later(let delay):
                    failures += 1
                    guard failures < Self.attempts, pause(min(delay ?? .seconds(1), Self.longestPause)) else {
                        return false
                    }
                case .tooLarge, .refused:
                    // It will never be taken. Behind a refused number only a new connection goes on.
                    calls.removeFirst()
                    break conversation
                case .malformed: return false
                }
            }
        }
        return true
    }

    private var isStopped: Bool { delivery.state.withLock { $0.isStopped } }

    /// Waits; false where delivery ends meanwhile.
    private func pause(_ time: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        return delivery.state.wait(deadline: deadline) { state -> Bool? in state.isStopped ? true : nil } == nil
    }
}

internal import IssueWire
internal import Synchronization
internal import UnixIO

extension Delivery {
    /// Leaves to the next run of the application what is not answered yet, and sends nothing any more.
    ///
    /// For the end of the process. Without a folder it stays in the buffer.
    package func spill() {
        guard let spillFolder else { return }
        let thread = CurrentProcess.threadID
        let calls = state.withLock { state -> [OutboxCall<Submission>] in
            guard state.threadID != thread else { return [] }
            state.isStopped = true
            return state.outbox.takeAll()
        }
        for call in calls { keep(call, in: spillFolder) }
    }

    // Small, so that even a run of half a second on a busy host gets one out.
    private static let keptBytes = 128 << 10

    private func keep(_ call: OutboxCall<Submission>, in folder: SpillFolder) {
        let text = call.text ?? ReportCall.text(of: call, producer: producer)
        if text.count > Self.keptBytes, call.entries.count > 1 {
            let (first, second) = call.halves
            keep(first, in: folder)
            return keep(second, in: folder)
        }
        let isKept = folder.keep(text, of: producer, from: call.sequence, issues: call.entries.count)
        let error =
            isKept
            ? DeliveryError(.postponed, "The process ends; its next run sends the issue.")
            : DeliveryError(.dropped, "The process ends, and the issue could not be kept for its next run.")
        for entry in call.entries { entry.payload.receipt?.fail(error) }
    }

    /// Begins to send what an earlier run has left behind, once, on a thread of its own.
    func pickUp(from path: String) {
        guard let spillFolder, !hasPickedUp.exchange(true, ordering: .relaxed) else { return }
        // Hardly ever is there anything, and then no thread is needed.
        func pickup(_ folder: SpillFolder, tellLost: (@Sendable (Int) -> Void)?) -> SpillPickup? {
            guard !folder.isEmpty else { return nil }
            return SpillPickup(
                folder: folder, sockets: [path], trust: trust, isStopped: { [self] in isStopped },
                pause: { [self] time in pause(time) }, tellLost: tellLost)
        }
        let pickups = [
            pickup(spillFolder, tellLost: { [self] lost in state.withLock { $0.outbox.lost(lost) } }),
            pickup(spillFolder.besideForCommand, tellLost: nil),
        ].compactMap(\.self)
        guard !pickups.isEmpty else { return }
        state.withLock { $0.isPickingUp = true }
        let body: @Sendable () -> Void = { [self] in
            Forks.heldOff { for pickup in pickups { pickup.run() } }
            state.withLock { $0.isPickingUp = false }
            state.broadcast()
        }
        guard (try? Thread.start(name: "issues-unsent", body: body)) == nil else { return }
        state.withLock { $0.isPickingUp = false }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits; false where delivery ends meanwhile.
    private func pause(_ time: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        return Forks.admitted {
            state.wait(deadline: deadline) { state -> Bool? in state.isStopped ? true : nil } == nil
        }
    }

    func waitForPickup(until deadline: KernelInstant) {
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isPickingUp ? nil : true }
    }
}

/// A folder with what a process could not send before it ended, for the next run of the application.
///
/// One file for each call of `Report`, as it was to be sent, with its producer
/// and numbers. So what did arrive, and was not answered, is known to the
/// daemon when it comes again, and a run that is over soon gets some of them out.
package struct SpillFolder: Sendable {
    package let path: String
    /// How much all files together may take.
    private let limit: Int

    private static let suffix = ".call"

    package init(path: String, limit: Int = 16 << 20) {
        self.path = path
        self.limit = limit
    }

    /// That of an application; nil where there is no place that is the user's own.
    ///
    /// A program with more rights than its caller has none, since the
    /// environment that names the place is the caller's.
    package static func usual(
        application: String, isPrivileged: Bool = CurrentProcess.isPrivileged,
        variable: (String) -> String? = { UnixIO.Environment[$0] }
    ) -> SpillFolder? {
        guard !isPrivileged else { return nil }
        func folder(_ name: String) -> String? {
            // systemd names several, with colons between them; a relative path is nobody's.
            let first = variable(name)?.split(separator: ":").first.map(String.init)
            return first?.hasPrefix("/") == true ? first : nil
        }
        let name = fileName(application)
        if let state = folder("STATE_DIRECTORY") { return SpillFolder(path: "\(state)/issues-unsent/\(name)") }
        guard let state = folder("XDG_STATE_HOME") ?? folder("HOME").map({ "\($0)/.local/state" }) else { return nil }
        return SpillFolder(path: "\(state)/issued/unsent/\(name)")
    }

    /// Where `issuectl report --spool` keeps its calls, for programs of the same user to send.
    package var besideForCommand: SpillFolder {
        SpillFolder(path: "\(FileSystem.parentFolder(of: path))/\(Self.commandName)", limit: limit)
    }

    /// The folder of `issuectl`, whatever applications its records name.
    package static let commandName = "issuectl"

    /// Keeps a call; false where it can't be.
    ///
    /// - Parameters:
    ///   - call: The message.
    ///   - producer: Who numbers its records.
    ///   - sequence: The number of the first.
    ///   - issues: The number of issues to report as lost in the next run if the call can't be kept.
    package func keep(_ call: [UInt8], of producer: String, from sequence: Int64, issues: Int) -> Bool {
        guard let folder = try? PrivateFolder(path, makesMissing: true) else { return false }
        let size = Self.files(in: folder).reduce(call.count) { $0 + $1.size }
        let number = String(sequence)
        let padded = String(repeating: "0", count: max(0, 19 - number.utf8.count)) + number
        let file = "\(producer)-\(padded)\(Self.suffix)"
        guard size <= limit, (try? folder.writeAtomically(call, to: file)) != nil else {
            if issues > 0 { Self.noteLost(issues, in: folder) }
            return false
        }
        return true
    }

    // MARK: Picking up

    /// A call that an earlier run has left behind.
    struct File: Hashable, Sendable {
        var name: String
        var size: Int
    }

    /// The folder as it is now, for a look at its files; nil where there is none, or others can reach into it.
    func open() -> PrivateFolder? {
        try? PrivateFolder(path)
    }

    /// Whether there is anything to pick up.
    package var isEmpty: Bool {
        guard let folder = open() else { return true }
        return Self.files(in: folder).isEmpty
    }

    /// The files that are there, those of each producer in the order of their numbers.
    static func files(in folder: borrowing PrivateFolder) -> [File] {
        guard let names = try? folder.names() else { return [] }
        var files: [File] = []
        for name in names.filter({ $0.hasSuffix(suffix) }).sorted() {
            guard let status = try? folder.status(of: name), status.kind == .regular else { continue }
            files.append(File(name: name, size: Int(status.size)))
        }
        return files
    }

    /// The right to pick up, which one process has at a time; nil while another has it.
    static func lock(_ folder: borrowing PrivateFolder) -> FileLock? {
        guard let file = try? folder.open("lock", [.readWrite, .create]) else { return nil }
        return try? FileLock(file)
    }

    /// How many issues could not be kept; asked, it is forgotten.
    static func takeLost(in folder: borrowing PrivateFolder) -> Int {
        let taken = "\(lostFile).taken"
        guard (try? folder.rename(lostFile, to: taken)) != nil,
            let text = try? folder.read(taken, limit: lostLimit * 2)
        else { return 0 }
        try? folder.remove(taken)
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
            .reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }

    // MARK: Within

    private static let lostLimit = 64 << 10
    private static let lostFile = "lost"

    private static func noteLost(_ issues: Int, in folder: borrowing PrivateFolder) {
        // A line each, so that processes which end together need no lock.
        guard let file = try? folder.open(lostFile, [.writeOnly, .create, .append]),
            let size = try? file.status().size, size < lostLimit
        else { return }
        try? file.writeAll(Array("\(issues)\n".utf8))
    }

    private static func fileName(_ application: String) -> String {
        let name = application.utf8.map { byte -> String in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                String(UnicodeScalar(byte))
            case _: "%\(String(byte, radix: 16))"
            }
        }
        return name.isEmpty ? "%" : String(name.joined().prefix(200))
    }
}

/// Sends what an earlier run has left behind, on a connection of its own.
package struct SpillPickup: Sendable {
    private let folder: SpillFolder
    private let paths: [String]
    private let trust: ServerTrust
    private let timeout: Duration
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
        folder: SpillFolder, sockets paths: [String], trust: ServerTrust, timeout: Duration = .seconds(45),
        isStopped: @escaping @Sendable () -> Bool, pause: @escaping @Sendable (Duration) -> Bool,
        tellLost: (@Sendable (Int) -> Void)? = nil
    ) {
        self.folder = folder
        self.paths = paths
        self.trust = trust
        self.timeout = timeout
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
            guard !isStopped(), let reply = try? connection.exchange(call, timeout: timeout) else { return .later }
            switch ReportResult(reply) {
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

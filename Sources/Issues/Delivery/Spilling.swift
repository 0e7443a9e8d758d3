internal import IssueWire
internal import Synchronization
package import UnixIO

extension Delivery {
    /// Saves all issues in the buffer for the application's next run and stops sending.
    ///
    /// Call this when the process is about to end. Does nothing without a spill folder or on the sending thread.
    package func spill() {
        guard let spillFolder else { return }
        let thread = CurrentProcess.threadID
        let calls = state.withLock { state -> [OutboxCall<QueuedReport>] in
            guard state.threadID != thread else { return [] }
            state.isStopped = true
            return state.outbox.takeAll()
        }
        for call in calls { save(call, in: spillFolder) }
    }

    /// The size in bytes above which a call with several issues is split into smaller files. It is small, so that even
    /// a run of half a second on a busy host can send one file.
    private static let maxFileBytes = 128 << 10

    private func save(_ call: OutboxCall<QueuedReport>, in folder: SpillFolder) {
        let text = call.text ?? ReportEncoder.text(of: call, producer: producer)
        if text.count > Self.maxFileBytes, call.entries.count > 1 {
            let (first, second) = call.halves
            save(first, in: folder)
            return save(second, in: folder)
        }
        let error: IssueDeliveryError
        do throws(SpillFailure) {
            try folder.keep(text, of: producer, from: call.sequence, issues: call.entries.count)
            error = .init(.postponed, "The process is ending. The application's next run sends the issue.")
        } catch let failure {
            error = .init(.dropped, "The process is ending, and the issue could not be saved: \(failure.reason).")
        }
        for entry in call.entries { entry.payload.receipt?.fail(error) }
    }

    /// Starts a thread that sends the calls that earlier runs and `issuectl` saved, if there are any. Does nothing
    /// without a spill folder, or if this function was used before.
    func pickUp(from path: String) {
        guard let spillFolder, !hasPickedUp.exchange(true, ordering: .relaxed) else { return }
        // The folders are almost always empty, and then no thread is needed.
        func pickup(_ folder: SpillFolder, onLost: (@Sendable (Int) -> Void)?) -> SpillSender? {
            guard !folder.isEmpty else { return nil }
            return SpillSender(
                folder: folder, sockets: [path], trust: trust, isStopped: { [self] in isStopped },
                pause: { [self] time in pause(time) }, onLost: onLost)
        }
        let pickups = [
            pickup(spillFolder, onLost: { [self] lost in state.withLock { $0.outbox.lost(lost) } }),
            pickup(spillFolder.commandFolder, onLost: nil),
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

    /// Waits for `time`. Returns false if delivery stops meanwhile.
    func pause(_ time: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        return Forks.admitted {
            state.wait(deadline: deadline) { state -> Bool? in state.isStopped ? true : nil } == nil
        }
    }

    func waitForPickup(until deadline: KernelInstant) {
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isPickingUp ? nil : true }
    }
}

/// A folder with spill files: the calls that a process could not send before it ended.
///
/// The application's next run sends them. Each `.call` file contains one encoded call of `Report`, with its producer
/// and sequence number, so the daemon recognises records that it has already stored. Since each call has a file of its
/// own, even a short run can send some of them.
package struct SpillFolder: Sendable {
    package let path: String
    /// The maximum total size of the saved calls, in bytes.
    private let limit: Int

    private static let suffix = ".call"

    /// Creates a reference to a folder, which need not exist.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - limit: The maximum total size of the saved calls, in bytes.
    package init(path: String, limit: Int = 16 << 20) {
        self.path = path
        self.limit = limit
    }

    /// Returns the folder of an application; nil if the process is privileged or its environment names no folder.
    ///
    /// A privileged program has no folder, because its caller controls the environment.
    ///
    /// - Parameters:
    ///   - application: The name of the application.
    ///   - isPrivileged: `true` if the process has more rights than its caller.
    ///   - variable: Returns the value of an environment variable; nil if it is not set.
    package static func standard(
        application: String, isPrivileged: Bool = CurrentProcess.isPrivileged,
        variable: (String) -> String? = { ProcessEnvironment[$0] }
    ) -> SpillFolder? {
        guard !isPrivileged else { return nil }
        func folder(_ name: String) -> String? {
            // systemd may list several folders, separated by colons. Relative paths are ignored.
            let first = variable(name)?.split(separator: ":").first.map(String.init)
            return first?.hasPrefix("/") == true ? first : nil
        }
        let name = fileName(application)
        if let state = folder("STATE_DIRECTORY") { return SpillFolder(path: "\(state)/issues-unsent/\(name)") }
        guard let state = folder("XDG_STATE_HOME") ?? folder("HOME").map({ "\($0)/.local/state" }) else { return nil }
        return SpillFolder(path: "\(state)/issued/unsent/\(name)")
    }

    /// The folder for calls of `issuectl report --spool`. It has the same parent as this folder. Any program whose own
    /// folder has this parent sends the calls.
    package var commandFolder: SpillFolder {
        SpillFolder(path: "\(FileSystem.parentFolder(of: path))/\(Self.commandName)", limit: limit)
    }

    /// The name of the folder for calls of `issuectl`, which may report records of any application.
    package static let commandName = "issuectl"

    /// Saves a call in a file.
    ///
    /// - Parameters:
    ///   - call: The encoded call.
    ///   - producer: The name of the producer that numbered the records.
    ///   - sequence: The sequence number of the first record.
    ///   - issues: The number of lost issues that the next run reports if the call cannot be saved. If the folder can't
    ///     be opened, the next run reports none.
    /// - Throws: `SpillFailure` if the call could not be saved, for example because the folder is full.
    package func keep(
        _ call: [UInt8], of producer: String, from sequence: Int64, issues: Int
    ) throws(SpillFailure) {
        let folder = try openOrMake()
        var isSaved = false
        defer { if !isSaved, issues > 0 { Self.noteLost(issues, in: folder) } }
        guard Self.files(in: folder).reduce(call.count, { $0 + $1.size }) <= limit else {
            throw SpillFailure("the folder \(path) is full: unsent reports may take \(limit) bytes")
        }
        do throws(Errno) {
            try folder.writeAtomically(call, to: Self.name(of: producer, from: sequence))
            isSaved = true
        } catch {
            throw SpillFailure("cannot write to the folder \(path): \(error)")
        }
    }

    private func openOrMake() throws(SpillFailure) -> PrivateFolder {
        do throws(Errno) {
            return try PrivateFolder(path, makesMissing: true)
        } catch .notPermitted {
            throw SpillFailure("other users own the folder \(path), can access it, or can replace a part of its path")
        } catch {
            throw SpillFailure("cannot open the folder \(path): \(error)")
        }
    }

    // MARK: Sending saved calls

    /// A saved call.
    struct File: Hashable, Sendable {
        var name: String
        /// The size in bytes.
        var size: Int
    }

    /// Opens the folder. Returns nil if that fails, for example because it does not exist or other users have access to
    /// it.
    func open() -> PrivateFolder? {
        try? PrivateFolder(path)
    }

    /// Whether there are neither saved calls nor a file with numbers of lost issues. Also `true` if the folder cannot
    /// be opened.
    package var isEmpty: Bool {
        guard let folder = open() else { return true }
        return Self.isEmpty(folder)
    }

    static func isEmpty(_ folder: borrowing PrivateFolder) -> Bool {
        files(in: folder).isEmpty && (try? folder.status(of: lostFile)) == nil
    }

    /// Returns the saved calls. Those of each producer are in the order of their sequence numbers.
    static func files(in folder: borrowing PrivateFolder) -> [File] {
        guard let names = try? folder.names() else { return [] }
        var files: [File] = []
        for name in names.filter({ $0.hasSuffix(suffix) }).sorted() {
            guard let status = try? folder.status(of: name), status.kind == .regular else { continue }
            files.append(File(name: name, size: Int(status.size)))
        }
        return files
    }

    /// Returns `true` if a file holds one whole call of `Report`, with the producer and sequence number that its name
    /// states.
    ///
    /// A file can be damaged on the disk. The daemon would wait for the rest of a truncated call. If the producer or
    /// the sequence number had changed, the daemon could store the records again.
    static func isCall(_ content: [UInt8], named name: String) -> Bool {
        guard content.last == 0 else { return false }
        let message = content.span.extracting(0..<content.count - 1)
        do {
            let call = try VarlinkCall.Envelope(scanning: message)
            guard JSONScanner(message).string(call.method) == CollectorMethod.report.fullName,
                let parameters = call.parameters, !call.oneway, !call.more, !call.upgrade
            else { return false }
            var scanner = JSONScanner(message, from: parameters.lowerBound)
            var producer: String?
            var sequence: Int64?
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                switch scanner.string(key) {
                case "producer": producer = try String(from: &scanner)
                case "sequence": sequence = try Int64(from: &scanner)
                // A record may be nested deeper than the scanner allows.
                default: try scanner.skipValueOfAnySize()
                }
            }
            guard let producer, let sequence else { return false }
            return Self.name(of: producer, from: sequence) == name
        } catch {
            return false
        }
    }

    /// Locks the folder so that only one process sends its files. Returns nil if another process holds the lock, or if
    /// the lock file cannot be opened.
    static func lock(_ folder: borrowing PrivateFolder) -> FileLock? {
        guard let file = try? folder.open("lock", [.readWrite, .create]) else { return nil }
        return try? FileLock(file)
    }

    /// Returns the number of issues that were noted as lost, and resets it to zero.
    static func takeLost(in folder: borrowing PrivateFolder) -> Int {
        let claimed = "\(lostFile).taken"
        guard (try? folder.rename(lostFile, to: claimed)) != nil,
            let text = try? folder.read(claimed, limit: lostLimit * 2)
        else { return 0 }
        try? folder.remove(claimed)
        // No process buffers more issues than this, so a larger number means that the file is damaged.
        let possible = 1...OutboxLimits().entries
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
            .filter { possible.contains($0) }.reduce(0, +)
    }

    // MARK: Files

    private static func name(of producer: String, from sequence: Int64) -> String {
        let number = String(sequence)
        let padded = String(repeating: "0", count: max(0, 19 - number.utf8.count)) + number
        return "\(producer)-\(padded)\(suffix)"
    }

    private static let lostLimit = 64 << 10
    private static let lostFile = "lost"

    fileprivate static func noteLost(_ issues: Int, in folder: borrowing PrivateFolder) {
        // Each number is appended as a line, so processes that end at the same time need no lock.
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

/// The error of a call that could not be saved.
package struct SpillFailure: Error {
    /// The reason, with the path of the folder, without a full stop.
    package var reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}

/// Sends saved calls on a separate connection.
package struct SpillSender: Sendable {
    private let folder: SpillFolder
    private let paths: [String]
    private let trust: ServerTrust
    private let timeout: Duration
    private let deadline: KernelInstant?
    private let isStopped: @Sendable () -> Bool
    private let pause: @Sendable (Duration) -> Bool
    private let onLost: (@Sendable (Int) -> Void)?

    private static let attempts = 20
    private static let connectTimeout: Duration = .seconds(5)
    private static let longestPause: Duration = .seconds(10)
    // Larger than any call.
    private static let fileLimit = 4 << 20

    /// Creates a sender. It does nothing until ``run()``.
    ///
    /// - Parameters:
    ///   - folder: The folder with the saved calls.
    ///   - paths: The paths to try for the daemon's socket, in order.
    ///   - trust: Decides which servers may receive reports.
    ///   - timeout: The timeout for the reply to a call.
    ///   - deadline: When to leave the remaining calls to another run. Nil for no deadline.
    ///   - isStopped: Returns `true` to leave the remaining calls to another run.
    ///   - pause: Waits before a call is retried. Returns `false` to leave the remaining calls to another run.
    ///   - onLost: Receives a number of lost issues. May be called several times. Nil keeps the number in the folder
    ///     for a later run.
    package init(
        folder: SpillFolder, sockets paths: [String], trust: ServerTrust, timeout: Duration = .seconds(45),
        deadline: KernelInstant? = nil, isStopped: @escaping @Sendable () -> Bool,
        pause: @escaping @Sendable (Duration) -> Bool,
        onLost: (@Sendable (Int) -> Void)? = nil
    ) {
        self.folder = folder
        self.paths = paths
        self.trust = trust
        self.timeout = timeout
        self.deadline = deadline
        self.isStopped = isStopped
        self.pause = pause
        self.onLost = onLost
    }

    /// Sends the saved calls one by one, unless another process is sending them. A file is removed when the daemon has
    /// answered its call with receipts or permanently refused it, or if the file is damaged; the other files stay for
    /// the next run.
    package func run() {
        guard let open = folder.open(), !SpillFolder.isEmpty(open), let lock = SpillFolder.lock(open) else { return }
        if let onLost {
            let lost = SpillFolder.takeLost(in: open)
            if lost > 0 { onLost(lost) }
        }
        var files = SpillFolder.files(in: open)[...]
        while !files.isEmpty, !isStopped(),
            var connection = try? CollectorConnection(
                paths: paths, trust: trust, timeout: timeLeft(of: Self.connectTimeout))
        {
            while let file = files.popFirst() {
                let call: [UInt8]
                do throws(Errno) {
                    call = try open.read(file.name, limit: Self.fileLimit)
                } catch .fileTooLarge {
                    call = []
                } catch {
                    // Another run may be able to read the file.
                    continue
                }
                guard SpillFolder.isCall(call, named: file.name) else {
                    // The file can never be sent.
                    lost(in: open)
                    try? open.remove(file.name)
                    continue
                }
                let outcome = send(call, on: &connection)
                guard outcome != .later else { return }
                try? open.remove(file.name)
                if outcome == .never {
                    lost(in: open)
                    // On this connection, the daemon refuses calls with higher numbers until this call is sent again.
                    // That never happens, so the other calls need a new connection.
                    break
                }
            }
        }
        _ = consume lock
    }

    /// Counts a call that can't be sent as one lost issue, because the number of its issues is unknown.
    private func lost(in folder: borrowing PrivateFolder) {
        if let onLost { onLost(1) } else { SpillFolder.noteLost(1, in: folder) }
    }

    private func timeLeft(of timeout: Duration) -> Duration {
        min(timeout, deadline?.timeLeft ?? timeout)
    }

    private enum SendResult {
        case delivered
        case never
        case later
    }

    private func send(_ call: [UInt8], on connection: inout CollectorConnection) -> SendResult {
        for _ in 0..<Self.attempts {
            guard !isStopped(), let reply = try? connection.exchange(call, timeout: timeLeft(of: timeout)) else {
                return .later
            }
            switch ReportResult(reply) {
            case .receipts: return .delivered
            case .tooLarge, .refused: return .never
            case .malformed: return .later
            case .later(let delay):
                guard pause(min(delay ?? .seconds(1), Self.longestPause)) else { return .later }
            }
        }
        return .later
    }
}

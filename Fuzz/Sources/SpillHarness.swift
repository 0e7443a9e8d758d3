import IssueProtocol
import UnixIO

@testable import Issues

/// An earlier run has left spill files behind. One of them, or the file with the number of lost issues, is damaged.
/// The other files are still sent, once each. No call is stored under a number that differs from the name of its file.
/// The next run does not send the damaged file again.
///
/// Input: a byte that selects the damaged file and the kind of damage, and the content of the file, or edits of a valid
/// file. Each edit has four bytes: its kind, the offset (two bytes), and a byte.
enum SpillHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let rest = input.array(from: 1)
        do { try check(damage: input[0], rest) } catch { fatalError("The test could not be run: \(error)") }
    }

    private static func check(damage: UInt8, _ bytes: [UInt8]) throws {
        let daemon = try daemon.get()
        daemon.state.withLock { $0 = Daemon.State() }
        let folder = SpillFolder(path: "\(SampleStore.folder)/unsent")
        for number in calls {
            let saved: Void? = try? folder.keep(call(number), of: producer, from: number, issues: 1)
            require(saved != nil, "A call can't be saved")
        }
        let damaged = "\(folder.path)/\(name(2))"
        switch damage & 3 {
        case 0: try write(bytes, to: damaged)
        case 1, 2: try write(edit(call(2), by: bytes), to: damaged)
        default: try write(bytes, to: "\(folder.path)/lost")
        }
        let content = try FileSystem.read(damaged, limit: 4 << 20)

        let lost = sendFiles(folder, to: daemon.path)
        let (stored, requests) = daemon.state.withLock { ($0.stored, $0.requests) }
        require(requests <= calls.count, "\(requests) calls were sent")
        require(Set(stored).count == stored.count, "A call is stored twice: \(stored)")
        require(Set(stored).isSubset(of: calls.map(name)), "A call is stored under other numbers: \(stored)")
        require(
            stored.contains(name(1)) && stored.contains(name(3)), "An undamaged file was not sent; stored: \(stored)")
        require(
            try FileSystem.names(in: folder.path).allSatisfy { $0 == "lost" || $0 == "lock" }, "A file was not removed")
        // A file that was not sent counts as lost.
        require(requests == calls.count || lost > 0, "A damaged file does not count as lost: \(content.asText)")
        require(lost >= 0 && lost <= 10_000 * (bytes.count + 1), "\(lost) issues are lost")
        require(sendFiles(folder, to: daemon.path) == 0, "Issues are lost again")
        require(daemon.state.withLock { $0.requests } == requests, "A call was sent again")
    }

    /// Sends the spill files, and returns the number of lost issues.
    private static func sendFiles(_ folder: SpillFolder, to path: String) -> Int {
        let lost = Monitor(0)
        SpillSender(
            // If a call gets no reply, the calls after it are not sent, and a check fails.
            folder: folder, sockets: [path], trust: ServerTrust(isNamed: true), timeout: .seconds(2),
            isStopped: { false }, pause: { _ in false }, onLost: { count in lost.withLock { $0 += count } }
        ).run()
        return lost.withLock { $0 }
    }

    // MARK: The files

    private static let calls: [Int64] = [1, 2, 3]
    private static let producer = "123e4567-e89b-12d3-a456-426614174000"

    private static func name(_ number: Int64) -> String { "\(producer)-000000000000000000\(number).call" }

    private static func call(_ number: Int64) -> [UInt8] {
        let parameters = ReportParameters(
            records: [IssueRecord(message: "issue \(number)", severity: .warning)], producer: producer,
            sequence: number)
        return VarlinkCall(method: CollectorMethod.report.fullName, parameters: parameters.json).message
    }

    private static func edit(_ call: [UInt8], by edits: [UInt8]) -> [UInt8] {
        var call = call
        for start in stride(from: 0, to: edits.count - 3, by: 4) where !call.isEmpty {
            let index = (Int(edits[start + 1]) << 8 | Int(edits[start + 2])) % call.count
            switch edits[start] & 3 {
            case 0: call[index] = edits[start + 3]
            case 1: call[index] ^= 1 << (edits[start + 3] & 7)
            case 2: call.removeLast(call.count - index)
            default: call.insert(edits[start + 3], at: index)
            }
        }
        return call
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        try FileDescriptor.open(path, [.writeOnly, .create, .truncate]).writeAll(bytes)
    }

    private static let daemon = Result { () throws -> Daemon in
        try FileSystem.makeFolders("\(SampleStore.folder)/unsent", mode: 0o700)
        return try Daemon("\(SampleStore.folder)/socket")
    }
}

/// A simple daemon on a thread of this process. It records the numbers of reports, refuses other calls, and closes the
/// connection if a message is not a call.
private final class Daemon: Sendable {
    struct State: Sendable {
        /// The file names that belong to the stored calls.
        var stored: [String] = []
        var requests = 0
    }

    let path: String
    let state = Monitor(State())

    init(_ path: String) throws {
        self.path = path
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o600)
        _ = try Thread.start(name: "daemon") { [self] in
            while true {
                guard (try? Readiness.wait(listener, for: .read)) == true else { continue }
                if let connection = try? listener.accept() { serve(connection) }
            }
        }
    }

    private func serve(_ connection: borrowing FileDescriptor) {
        var frames = FrameDecoder(limit: 4 << 20)
        while true {
            do {
                while let frame = try frames.next() {
                    state.withLock { $0.requests += 1 }
                    let call = try VarlinkCall(decoding: frames[frame])
                    let reply = answer(call)
                    if !call.oneway { try connection.sendAll(reply) }
                }
                guard try Readiness.wait(connection, for: .read) else { continue }
                let count = try frames.receive(atMost: 64 << 10) { buffer, room throws(Errno) in
                    try connection.read(into: &buffer, at: room.lowerBound, atMost: room.count)
                }
                guard count > 0 else { return }
            } catch {
                return
            }
        }
    }

    private func answer(_ call: VarlinkCall) -> [UInt8] {
        guard call.method == CollectorMethod.report.fullName else {
            return CollectorError.methodNotFound(call.method).reply.message
        }
        guard let report = try? ReportParameters(json: call.parameters), !report.records.isEmpty else {
            return CollectorError.invalidParameter("records").reply.message
        }
        let number = String(report.sequence ?? 0)
        let name =
            "\(report.producer ?? "")-\(String(repeating: "0", count: max(0, 19 - number.count)))\(number).call"
        state.withLock { $0.stored.append(name) }
        return VarlinkReply(
            parameters: ReportReply(receipts: report.records.map { _ in .stored(id: "a-1") }).json
        ).message
    }
}

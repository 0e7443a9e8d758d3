import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@Suite("Saving unsent calls when the process ends")
struct SpillTests {
    /// Simulates a run of an application that ends while the daemon is not running. Returns the producer of the run.
    private static func endedRun(_ fixture: CollectorFixture, _ folder: SpillFolder, _ messages: [String]) async throws
        -> String
    {
        let run = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, spillFolder: folder)
        let reporter = DaemonReporter(delivery: run)
        let receipts = messages.map { reporter.submit(IssueReport($0, level: .warning)) }
        run.spill()
        for receipt in receipts {
            await #expect(throws: IssueDeliveryError.self) { try await receipt.stored() }
        }
        return run.producer
    }

    private static func withFolder(_ limit: Int = 1 << 20, _ body: (SpillFolder) async throws -> Void) async throws {
        let root = try ScratchFolder()
        try await body(SpillFolder(path: root["unsent"], limit: limit))
    }

    private static func calls(in folder: SpillFolder) -> [String] {
        ((try? FileSystem.names(in: folder.path)) ?? []).filter { $0.hasSuffix(".call") }
    }

    @Test("The next run sends a saved call with its original producer and numbers, and then removes the file")
    func pickedUp() async throws {
        try await Self.withFolder { folder in
            try await CollectorFixture.with(faults: nil) { fixture in
                let producer = try await Self.endedRun(fixture, folder, (1...20).map { "old \($0)" })
                let name = "\(producer)-0000000000000000001.call"
                #expect(Self.calls(in: folder) == [name])
                let status = try FileSystem.status(of: "\(folder.path)/\(name)")
                #expect(status.mode == 0o600)

                let collector = try FakeCollector(path: fixture.path, faults: [.none, .busy(.milliseconds(1))])
                defer { collector.stop() }
                let next = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, spillFolder: folder)
                defer { next.stop() }
                _ = try await DaemonReporter(delivery: next).submit(IssueReport("new")).stored()
                #expect(try await collector.waits(forStored: 21))
                let old = collector.stored.filter { $0.producer == producer }
                #expect(old.map(\.record.message) == (1...20).map { "old \($0)" })
                #expect(old.map(\.sequence) == Array(1...20))
                #expect(collector.stored.first { $0.record.message == "new" }?.producer == next.producer)
                try await eventually("no call is left") { Self.calls(in: folder).isEmpty }
            }
        }
    }

    @Test("Records that the daemon stored without answering are not stored again")
    func unanswered() async throws {
        try await Self.withFolder { folder in
            try await CollectorFixture.with(faults: [.late]) { fixture in
                let collector = try #require(fixture.collector)
                let run = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, spillFolder: folder)
                DaemonReporter(delivery: run).receive(IssueReport("stored already"))
                #expect(try await collector.waits(forStored: 1))
                run.spill()
                #expect(Self.calls(in: folder).count == 1)
                collector.release()

                let next = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, spillFolder: folder)
                defer { next.stop() }
                _ = try await DaemonReporter(delivery: next).submit(IssueReport("new")).stored()
                try await eventually("no call is left") { Self.calls(in: folder).isEmpty }
                #expect(Set(collector.stored.map(\.record.message)) == ["stored already", "new"])
                #expect(collector.stored.count == 2)
            }
        }
    }

    @Test(
        "A daemon that does not reply delays the sending of saved calls only up to the deadline",
        .timeLimit(.minutes(1)), arguments: [.zero, .milliseconds(50)] as [Duration])
    func deadline(time: Duration) async throws {
        try await Self.withFolder { folder in
            try await CollectorFixture.with(faults: nil) { fixture in
                _ = try await Self.endedRun(fixture, folder, ["kept"])
                // Even without an accept, the kernel connects clients until the queue is full: here, after one.
                let stopped = try Socket.listenUnix(at: .unix(fixture.path), mode: 0o600, backlog: 0)
                func pickUp() {
                    SpillSender(
                        folder: folder, sockets: [fixture.path, fixture.path], trust: .socket(fixture.path),
                        timeout: .seconds(3600), deadline: MonotonicClock.now.advanced(by: time),
                        isStopped: { false }, pause: { _ in true }
                    ).run()
                    #expect(Self.calls(in: folder).count == 1)
                }
                pickUp()
                let accepted = try? Socket.connect(to: .unix(fixture.path), timeout: .zero)
                #expect(throws: Errno.wouldBlock) { _ = try Socket.connect(to: .unix(fixture.path), timeout: .zero) }
                pickUp()
                _ = consume accepted
                _ = consume stopped
            }
        }
    }

    @Test("If the folder is full, the next run reports the number of lost issues")
    func full() async throws {
        try await Self.withFolder(6000) { folder in
            try await CollectorFixture.with(faults: nil) { fixture in
                _ = try await Self.endedRun(
                    fixture, folder, (1...20).map { "old \($0) \(String(repeating: "x", count: 999))" })
                _ = try await Self.endedRun(
                    fixture, folder, (1...3).map { "older \($0) \(String(repeating: "x", count: 3999))" })
                #expect(Self.calls(in: folder) == [])
                let collector = try FakeCollector(path: fixture.path)
                defer { collector.stop() }
                let next = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, spillFolder: folder)
                defer { next.stop() }
                let reporter = DaemonReporter(delivery: next)
                _ = try await reporter.submit(IssueReport("first")).stored()
                #expect(try await collector.waits(forStored: 1))
                _ = try await reporter.submit(IssueReport("second")).stored()
                let counts = collector.stored.compactMap { $0.record.metadata?["dropped_before"]?.asInteger }
                #expect(counts.reduce(0, +) == 23)
            }
        }
    }

    /// Sends the saved calls of a folder. Returns the number of lost issues that `onLost` receives.
    private static func pickUp(_ folder: SpillFolder, to path: String) -> Int {
        let lost = Monitor(0)
        SpillSender(
            folder: folder, sockets: [path], trust: .socket(path), timeout: .seconds(60), isStopped: { false },
            pause: { _ in false }, onLost: { count in lost.withLock { $0 += count } }
        ).run()
        return lost.withLock { $0 }
    }

    private static func change(_ name: String, in folder: SpillFolder, _ change: (inout [UInt8]) -> Void) throws {
        let path = "\(folder.path)/\(name)"
        var content = try FileSystem.read(path, limit: 1 << 20)
        change(&content)
        try FileSystem.writeAtomically(content, to: path)
    }

    @Test(
        "A damaged or refused call is lost, but the other calls are stored with their original numbers",
        arguments: [
            "cut off", "empty", "without its end", "two calls", "another number", "another method", "no answer wanted",
            "too large", "refused by the daemon",
        ])
    func damaged(how: String) async throws {
        try await Self.withFolder(16 << 20) { folder in
            try await CollectorFixture.with(faults: []) { fixture in
                let collector = try #require(fixture.collector)
                for number in 1...3 {
                    let parameters = ReportParameters(
                        records: [IssueRecord(message: "issue \(number)")], producer: "p", sequence: Int64(number))
                    let call = VarlinkCall(method: CollectorMethod.report.fullName, parameters: parameters.json)
                    try folder.keep(call.message, of: "p", from: Int64(number), issues: 1)
                }
                func replace(_ word: String, by other: String, in content: inout [UInt8]) {
                    let text = String(decoding: content, as: UTF8.self)
                    content = Array(text.replacing(word, with: other).utf8)
                }
                try Self.change("p-0000000000000000002.call", in: folder) { content in
                    switch how {
                    case "cut off": content.removeLast(content.count / 2)
                    case "empty": content = []
                    case "without its end": content.removeLast()
                    case "two calls": content += content
                    case "another number": replace("\"sequence\":2", by: "\"sequence\":9", in: &content)
                    case "another method": replace("Collector.Report", by: "Collector.Repair", in: &content)
                    case "refused by the daemon": replace("\"message\"", by: "\"massage\"", in: &content)
                    case "no answer wanted": replace("{\"method\"", by: "{\"oneway\":true,\"method\"", in: &content)
                    default: content = [UInt8](repeating: 0x20, count: 5 << 20)
                    }
                }
                #expect(Self.pickUp(folder, to: fixture.path) == 1)
                #expect(collector.stored.map(\.record.message) == ["issue 1", "issue 3"])
                #expect(collector.stored.map(\.sequence) == [1, 3])
                #expect(Self.calls(in: folder) == [])
            }
        }
    }

    @Test("Invalid numbers of lost issues are ignored")
    func lostNumbers() async throws {
        try await Self.withFolder { folder in
            try await CollectorFixture.with(faults: []) { fixture in
                try folder.keep([0], of: "p", from: 1, issues: 1)
                try FileSystem.writeAtomically(
                    Array("3\n9223372036854775807\n-4\nx\n\n9223372036854775807\n5\n".utf8),
                    to: "\(folder.path)/lost")
                // The two valid numbers, and the file that is not a call.
                #expect(Self.pickUp(folder, to: fixture.path) == 3 + 5 + 1)
            }
        }
    }

    @Test("A folder that other users can read or write is not used", arguments: [0o755, 0o720, 0o702] as [UInt32])
    func shared(mode: UInt32) async throws {
        try await Self.withFolder { folder in
            try FileSystem.makeFolders(folder.path, mode: 0o700)
            try FileSystem.setMode(mode, of: folder.path)
            try await CollectorFixture.with(faults: nil) { fixture in
                _ = try await Self.endedRun(fixture, folder, ["a"])
                #expect(Self.calls(in: folder) == [])
            }
        }
    }

    @Test("If a call cannot be saved, the error names the folder and the reason")
    func unsaved() async throws {
        func reason(_ folder: SpillFolder) throws -> String? {
            #expect(throws: SpillFailure.self) { try folder.keep([0], of: "p", from: 1, issues: 1) }?.reason
        }
        try await Self.withFolder(1 << 20) { folder in
            let full = SpillFolder(path: folder.path, limit: 0)
            #expect(try reason(full) == "the folder \(folder.path) is full: unsent reports may take 0 bytes")
            let within = SpillFolder(path: "\(folder.path)/lost/x")
            #expect(
                try reason(within) == "cannot open the folder \(within.path): Not a directory (ENOTDIR)")
            try FileSystem.setMode(0o755, of: folder.path)
            #expect(
                try reason(folder)
                    == "other users own the folder \(folder.path), can access it, or can replace a part of its path")
        }
    }

    @Test("The folder is in the unit's or the user's state directory; without such a directory, there is none")
    func folderPaths() {
        func path(_ variables: [String: String]) -> String? {
            SpillFolder.standard(application: "shop/2", variable: { variables[$0] })?.path
        }
        #expect(path(["STATE_DIRECTORY": "/var/lib/shop:/var/lib/x"]) == "/var/lib/shop/issues-unsent/shop%2f2")
        #expect(path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/issued/unsent/shop%2f2")
        #expect(path(["XDG_STATE_HOME": "s", "HOME": "/h"]) == "/h/.local/state/issued/unsent/shop%2f2")
        #expect(path([:]) == nil)
        // The environment of a setuid program is controlled by its caller.
        #expect(SpillFolder.standard(application: "shop", isPrivileged: true, variable: { _ in "/h" }) == nil)
    }
}

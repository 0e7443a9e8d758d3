import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite("Many and slow clients", .daemonLog)
struct ManyClientsTests {
    @Test("1,024 concurrent connections get their receipts; when idle, they need less than 16 MiB together")
    func manyClients() async throws {
        try CurrentProcess.raiseOpenFileLimit()
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Before")
            let before = try daemon.kilobytes("VmRSS")
            let clients = try (0..<1024).map { _ in try RawClient(path: daemon.socket) }
            let text = String(repeating: "x", count: 2000)
            for client in clients { try client.begin(.report, ReportParameters(records: [IssueRecord(message: text)])) }
            for client in clients { #expect(try client.answer(of: ReportReply.self).receipts.count == 1) }
            #expect(try clients[7].status().connections == 1024)
            #expect(try daemon.kilobytes("VmRSS") - before < 16 << 10)
        }
    }

    @Test("A client that sends calls without a gap does not run into ReadTimeout=")
    func overlapping() async throws {
        try await DaemonFixture.with("[Socket]\nReadTimeout=300ms") { daemon in
            let client = try RawClient(path: daemon.socket)
            let call = VarlinkCall(
                method: CollectorMethod.report.fullName,
                parameters: ReportParameters(records: [IssueRecord(message: "Again")]).json
            ).message
            let (half, rest) = (Array(call[..<40]), Array(call[40...]))
            try client.send(half)
            let end = MonotonicClock.now.advanced(by: .milliseconds(900))
            repeat {
                // So each read of the daemon ends in the middle of a call.
                try client.send(rest + half)
                #expect(try client.answer(of: ReportReply.self).receipts.count == 1)
            } while MonotonicClock.now < end
        }
    }

    @Test("A call that arrives byte by byte runs into ReadTimeout=")
    func trickle() async throws {
        try await DaemonFixture.with("[Socket]\nReadTimeout=300ms") { daemon in
            let client = try RawClient(path: daemon.socket)
            let end = MonotonicClock.now.advanced(by: .seconds(10))
            var isClosed = false
            while !isClosed, MonotonicClock.now < end {
                try? client.send([0x20])
                isClosed = try client.isClosed(within: .milliseconds(20))
            }
            #expect(isClosed)
        }
    }

    @Test("Large calls that together exceed MaxBytesInFlightPerUser= are all completed, in less than 64 MiB of memory")
    func halves() async throws {
        try await DaemonFixture.with("[Socket]\nMaxBytesInFlightPerUser=512K\nMaxMessageSize=512K") { daemon in
            let records = (0..<2).map { IssueRecord(message: "\($0)" + String(repeating: "y", count: 200_000)) }
            let call = VarlinkCall(
                method: CollectorMethod.report.fullName, parameters: ReportParameters(records: records).json
            ).message
            let path = daemon.socket
            let senders = try Senders(count: 16) { _ in
                let client = try RawClient(path: path)
                for start in stride(from: 0, to: call.count, by: 50_000) {
                    try client.send(Array(call[start..<min(start + 50_000, call.count)]))
                }
                return try client.answer(of: ReportReply.self).receipts.count
            }
            #expect(try senders.results() == [Int](repeating: 2, count: 16))
            #expect(try daemon.kilobytes("VmHWM") < 64 << 10)
        }
    }

    @Test("A client that reads replies late is throttled, gets all of them, and delays no other client")
    func lateReader() async throws {
        let limits: DaemonConfiguration = "[Socket]\nMaxBytesInFlightPerUser=64K\nMaxMessageSize=64K\nMaxRecordSize=4K"
        try await DaemonFixture.with(limits) { daemon in
            // Rejections are the longest reply to the shortest record.
            let records = [String](repeating: "{}", count: 1000).joined(separator: ",")
            let call = VarlinkCall(
                method: CollectorMethod.report.fullName, parameters: Array("{\"records\":[\(records)]}".utf8)
            ).message
            let calls = 500
            let client = try RawClient(path: daemon.socket)
            let descriptor = try client.duplicate()
            let sent = Monitor(0)
            let senders = try Senders(count: 1) { _ in
                for _ in 0..<calls {
                    try descriptor.sendAll(call, timeout: .seconds(60))
                    sent.withLock { $0 += 1 }
                    sent.broadcast()
                }
                return calls
            }
            // Blocks this thread. A suspended test could resume so late that the daemon has disconnected the client.
            var last = 0
            while let count = sent.wait(
                deadline: MonotonicClock.now.advanced(by: last == 0 ? .seconds(20) : .milliseconds(500)),
                until: { $0 > last ? $0 : nil })
            { last = count }
            #expect(last > 0 && last < calls)
            #expect(try daemon.kilobytes("VmRSS") < 64 << 10)
            let other = try RawClient(path: daemon.socket)
            try other.begin(.status, JSONValue.object([]))
            #expect(try other.reply().error == nil)
            for _ in 0..<calls { #expect(try client.reply().error == nil) }
            #expect(try senders.results() == [calls])
        }
    }
}

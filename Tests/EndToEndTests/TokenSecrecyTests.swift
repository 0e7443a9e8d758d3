import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Secrecy of the token", .daemonLog)
struct TokenSecrecyTests {
    private static let marked = "mArKeD+token/with=signs"
    /// The token, two encoded forms of it, and its beginning, which also finds a truncated token.
    private static let forms = [marked, "mArKeD%2Btoken%2Fwith%3Dsigns", "mArKeD%2btoken%2fwith%3dsigns", "mArKeD"]

    @Test("The token is in no log, reply, status, database or process list, whatever the listener does")
    func nowhere() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "RequestTimeout=300ms\nConnectTimeout=300ms"
        try await DaemonFixture.with(.forwarding(to: listener, settings), starts: false) { daemon in
            try daemon.writeToken(Self.marked)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            // The bodies repeat the token, both as it is and percent-encoded.
            let telling = "no such token \(Self.marked), in /?token=\(Self.forms[1])&type=issued"
            let faults: [Fault] = [
                .status(401, headers: [], body: telling), .status(500, headers: [], body: telling),
                .status(302, headers: [HTTPField("Location", "http://127.0.0.1:1/?token=\(Self.forms[1])")], body: ""),
                .status(413, headers: [], body: telling), .status(429, headers: [], body: telling), .garbage,
                .readSilent, .resetMidBody(after: 10), .resetBeforeAnswer, .truncatedAnswer, .acceptSilent,
                .status(400, headers: [], body: telling), .allMalformed, .hugeAnswer(bytes: 100_000),
            ]
            var ids: [String] = []
            var seen: [String] = []
            for (index, fault) in faults.enumerated() {
                try listener.plan(FaultStep(fault, times: .forever))
                ids += try client.report("Fault \(index)")
                try await eventually("\(fault.name) has occurred") {
                    _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(1)), returning: FlushReply.self)
                    guard listener.requests.contains(where: { $0.fault == fault.name }) else { return false }
                    seen.append(try answer("Status", "{}", client))
                    // The listener records the request before the daemon gets the response.
                    return index > 0 || seen.contains { $0.contains("401 from ") }
                }
            }
            try listener.down()
            ids += try client.report("The listener is down")
            try await eventually("the outage is detected") {
                _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(1)), returning: FlushReply.self)
                return try client.destination().reason == "refused"
            }
            for id in ids { seen.append(try answer("Show", #"{"id":"\#(id)"}"#, client)) }
            seen.append(try answer("DeadLetters", #"{"lines":true}"#, client))
            for text in seen { try expectNone(Array(text.utf8), "an answer") }

            let process = "/proc/\(daemon.pid)"
            for name in ["cmdline", "environ", "status", "comm"] {
                try expectNone([UInt8](try Data(contentsOf: URL(filePath: "\(process)/\(name)"))), name)
            }
            try daemon.terminate()
            try expectNone(Array(daemon.log.utf8), "the log")
            for suffix in ["", "-wal"] {
                guard let data = try? Data(contentsOf: URL(filePath: daemon.database + suffix)) else { continue }
                try expectNone([UInt8](data), "issues.db\(suffix)")
            }
        }
    }

    @Test("The token is in no core file, because the daemon dumps no core")
    func noCore() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener), starts: false) { daemon in
            try daemon.writeToken(Self.marked)
            let folder = daemon.folder["cores"]
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try daemon.launch(
                through: ["/bin/sh", "-c", "cd \"$1\" && shift && ulimit -c unlimited && exec \"$@\"", "sh", folder])
            try daemon.waitUntilReady()
            _ = try RawClient(path: daemon.socket).report("Something to send with the token")
            try await eventually("the record was sent") { !listener.requests.isEmpty }
            kill(daemon.pid, SIGABRT)
            #expect(try daemon.end() == .signal(SIGABRT))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    private func answer(_ method: String, _ parameters: String, _ client: RawClient) throws -> String {
        let reply = try client.call("org.issued.Collector.\(method)", parameters)
        return String(decoding: reply.parameters, as: UTF8.self)
    }

    private func expectNone(_ bytes: [UInt8], _ file: String) throws {
        let data = Data(bytes)
        for form in Self.forms { #expect(data.range(of: Data(form.utf8)) == nil, "\(file) holds \(form)") }
    }
}

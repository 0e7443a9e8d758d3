import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

/// A destination is not trusted: credentials or records that it repeats are shown to no user.
@Suite("A hostile destination", .daemonLog)
struct HostileDestinationTests {
    /// A running `hostile_destination.py`.
    private final class Destination {
        private let server: PythonServer

        init(_ mode: String) async throws {
            server = try await PythonServer("hostile_destination", files: ["mode": mode])
        }

        var port: String { server.port }

        /// Whether the server has repeated the credential in each form.
        var hasSentAll: Bool {
            let numbers = server.folder.text(of: "count").split(separator: " ").compactMap { Int($0) }
            return numbers.count == 2 && numbers[0] >= numbers[1]
        }
    }

    private static let token = "k9+Zt/4Qw=Lm7xVb2/Rr+Y8"
    private static let user = "collector"

    /// Returns all substrings of eight bytes of the token, plain and in Base64.
    private static func pieces(of token: String, user: String) -> Set<[UInt8]> {
        var texts = [Array(token.utf8)]
        for before in ["", "a", "ab", "\(user):", "a\(user):", "ab\(user):"] {
            // Characters that depend only on the text before the token are not secret.
            let encoded = Array(Data((before + token).utf8).base64EncodedString().utf8)
            texts.append(Array(encoded.dropFirst((before.utf8.count * 4 + 2) / 3)))
        }
        var pieces: Set<[UInt8]> = []
        for text in texts where text.count >= 8 {
            for start in 0...(text.count - 8) { pieces.insert(Array(text[start..<start + 8])) }
        }
        return pieces
    }

    private static func leak(of pieces: Set<[UInt8]>, in bytes: [UInt8]) -> String? {
        guard bytes.count >= 8 else { return nil }
        for start in 0...(bytes.count - 8) where pieces.contains(Array(bytes[start..<start + 8])) {
            return String(decoding: bytes[max(0, start - 20)..<min(bytes.count, start + 28)], as: UTF8.self)
        }
        return nil
    }

    /// Lets a destination repeat a credential in all forms, and searches the daemon's replies, log and database for it.
    private func expectSecrecy(
        of secret: String, user: String, _ section: (Destination) -> String, token: String = Self.token,
        environment: (Destination) -> [String: String] = { _ in [:] }
    ) async throws {
        let destination = try await Destination("echo")
        var configuration = DaemonConfiguration(
            "[Forward]\nBatchDelay=0\nCriticalDelay=0\n\(section(destination))\nCredential=TOKENFILE")
        configuration.environment = environment(destination)
        let pieces = Self.pieces(of: secret, user: user)
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            try daemon.writeToken(token)
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            let id = try client.report("To be refused")[0]
            var seen: [[UInt8]] = []
            try await eventually("each form was returned") {
                _ = try client.call(.flush, FlushParameters(timeout: .milliseconds(1)), returning: FlushReply.self)
                seen.append(try client.call("org.issued.Collector.Status").parameters)
                return destination.hasSentAll
            }
            seen.append(try client.call("org.issued.Collector.Show", #"{"id":"\#(id)"}"#).parameters)
            #expect(seen.contains { String(decoding: $0, as: UTF8.self).contains("500 from ") })
            for text in seen {
                let leak = Self.leak(of: pieces, in: text)
                #expect(leak == nil, "an answer of the daemon holds \(leak ?? "")")
            }
            try daemon.terminate()
            #expect(Self.leak(of: pieces, in: Array(daemon.log.utf8)) == nil, "the log")
            for suffix in ["", "-wal"] {
                guard let data = try? Data(contentsOf: URL(filePath: daemon.database + suffix)) else { continue }
                #expect(Self.leak(of: pieces, in: [UInt8](data)) == nil, "issues.db\(suffix)")
            }
        }
    }

    @Test(
        "A credential that a destination repeats in any form is in no reply, log or file",
        arguments: [
            "[Elasticsearch]\nUser=\(user)", "[Elasticsearch]", "[OTLP]", "[ClickHouse]\nUser=\(user)",
        ])
    func credentials(section: String) async throws {
        try await expectSecrecy(of: Self.token, user: Self.user) { "\(section)\nURL=http://127.0.0.1:\($0.port)" }
    }

    @Test("The password of a proxy from the environment is in no reply, log or file")
    func proxyPassword() async throws {
        try await expectSecrecy(
            of: "pr0xy+Secret/77=z", user: "corp", { _ in "[ClickHouse]\nURL=http://store.invalid:8123" },
            environment: { ["http_proxy": "http://corp:pr0xy%2BSecret%2F77%3Dz@127.0.0.1:\($0.port)"] })
    }

    @Test(
        "Nobody is shown a reply that quotes a record, and ordinary users are not shown the destination's address",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func quotedRecord() async throws {
        let destination = try await Destination("quote")
        let settings = """
            [Forward]
            BatchDelay=300ms
            CriticalDelay=300ms
            [ClickHouse]
            URL=http://127.0.0.1:\(destination.port)
            """
        try await DaemonFixture.with(DaemonConfiguration(settings)) { daemon in
            let (first, second) = (
                try OtherUser.client(4242, of: daemon), try OtherUser.client(4243, of: daemon)
            )
            let root = try RawClient(path: daemon.socket)
            let own = try second.report("Of the second")[0]
            let secret = try first.report("The account 48151623 is blocked")[0]
            try await eventually("both records were rejected") { try root.destination().ledger.deadLettered == 2 }
            try await eventually("the last answer is known") { try root.destination().lastAnswer != nil }
            for method in ["DeadLetters", "Status"] {
                let text = String(
                    decoding: try root.call("org.issued.Collector.\(method)").parameters, as: UTF8.self)
                #expect(text.contains("ClickHouse exception 27"))
                #expect(!text.contains("48151623"), "\(text)")
            }

            for (client, id) in [(first, secret), (second, own)] {
                var seen = [try client.call("org.issued.Collector.Status").parameters]
                for (method, parameters) in [
                    ("Show", #"{"id":"\#(id)"}"#), ("Await", #"{"id":"\#(id)"}"#), ("DeadLetters", "{}"),
                ] {
                    seen.append(try client.call("org.issued.Collector.\(method)", parameters).parameters)
                }
                for text in seen.map({ String(decoding: $0, as: UTF8.self) }) {
                    #expect(!text.contains("127.0.0.1"), "\(text)")
                    #expect(!text.contains("DB::Exception"), "\(text)")
                    if id == own { #expect(!text.contains("48151623"), "\(text)") }
                }
                let status = try client.destination()
                #expect(status.lastAnswer == nil && status.advice == nil && status.requests == 0)
                let fate = try #require(try client.show(id).fates.first)
                #expect(fate.outcome == .deadLettered && fate.answer == "400")
            }
        }
    }
}

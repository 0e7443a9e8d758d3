import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

/// A webhook is not trusted: the only harm that it can do is to lose its own messages.
@Suite("Hostile webhooks", .daemonLog)
struct HostileWebhookTests {
    /// The paths of `hostile_webhook.py`. There is a notifier for each.
    private static let paths = [
        "silent", "trickle", "headers", "long-header", "early-hints", "chunks", "gzip", "file", "redirect", "later",
        "escapes", "garbage",
    ]

    @Test("Webhooks that reply slowly, endlessly or with nonsense neither delay other notifiers nor use much memory")
    func everyKind() async throws {
        let server = try await PythonServer("hostile_webhook")
        let receiver = try WebhookReceiver()
        let hostile = Self.paths.map {
            "[Notify \($0)]\nURL=http://127.0.0.1:\(server.port)/\($0)\nDelay=50ms\nRequestTimeout=2s\n"
        }
        let configuration = hostile.joined() + "[Notify oncall]\nURL=\(receiver.url)\nDelay=50ms\n"
        try await DaemonFixture.with(DaemonConfiguration(configuration)) { daemon in
            let client = try RawClient(path: daemon.socket)
            let before = try daemon.kilobytes("VmRSS")
            _ = try client.report("Order failed")
            let stored = ContinuousClock.now
            try await eventually("the message arrives") { receiver.requests.count == 1 }
            #expect(stored.duration(to: receiver.requests[0].at) < .seconds(5))
            func requests() -> [String] { server.folder.text(of: "requests").split(separator: "\n").map(String.init) }
            try await eventually("each webhook got a request, and the silent one got two") {
                Set(requests()).count == Self.paths.count && requests().count { $0 == "/silent" } > 1
            }
            let notifiers = try client.status().notifiers
            #expect(notifiers.count == Self.paths.count + 1)
            #expect(notifiers.allSatisfy { $0.received == $0.delivered + $0.pending + $0.givenUp })
            #expect(notifiers.allSatisfy { $0.received == 1 && $0.givenUp == 0 })
            // A success counts even if its body is cut off or ignored.
            let successful = notifiers.filter { $0.delivered == 1 }.map(\.name)
            #expect(Set(successful) == ["chunks", "gzip", "oncall"])
            #expect(!requests().contains("/followed"))
            let answers = notifiers.compactMap(\.lastAnswer).joined(separator: "\n")
            for text in ["hunter2", "forged", "root:", "\u{1B}"] {
                #expect(!answers.contains(text) && !daemon.log.contains(text), "\(text)")
            }
            #expect(try daemon.kilobytes("VmRSS") - before < 32 << 10)
            _ = try client.report("Payment failed")
            try await eventually("the next message arrives") { receiver.requests.count == 2 }
            #expect(try daemon.terminate(within: .seconds(20)) == .exit(0))
        }
    }
}

import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Commands that get notifications", .daemonLog)
struct CommandNotificationTests {
    private func record(_ message: String) -> IssueRecord {
        IssueRecord(message: message, app: Application(name: "shop", version: "2.4.0"))
    }

    private func notifier(_ client: RawClient) throws -> NotifierStatus {
        // For a moment after a start, the status lists no notifier.
        try client.status().notifiers.first ?? NotifierStatus(name: "", format: "")
    }

    private func title(_ message: JSONValue) -> String { message["title"]?.asString ?? "" }

    /// Returns `true` if any process of a process group is running. Ended processes that have not been reaped don't
    /// count.
    private func isRunning(group: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.contains { name in
            guard Int32(name) != nil, let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)
            else {
                return false
            }
            // The state, the parent and the process group follow the name, which is in parentheses.
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 2 && fields[2] == group && fields[0] != "Z" && fields[0] != "X"
        }
    }

    @Test("A command gets each message on its standard input, and the status shows its exit status and output")
    func command() async throws {
        let folder = try ScratchFolder()
        let program = try folder.write(
            "#!/bin/sh\ncat > \(folder.path)/message.json\necho delivered by $1 >&2\nexit $(cat \(folder.path)/status)\n",
            to: "page", mode: 0o755)
        _ = try folder.write("75", to: "status")
        try await DaemonFixture.with(DaemonConfiguration("[Notify oncall]\nCommand=\(program) 'my pager'\nDelay=0")) {
            daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Order failed")])
            try await eventually("the command fails") { try notifier(client).reason == "command_failed" }
            let failed = "exit status 75: temporary failure (delivered by my pager)"
            #expect(try notifier(client).lastAnswer == failed && notifier(client).format == "command")
            _ = try folder.write("0", to: "status")
            try await eventually("the message is delivered") { try notifier(client).delivered == 1 }
            #expect(try notifier(client).repeated == 0)
            let message = try JSONValue(json: folder.text(of: "message.json"))
            #expect(title(message).hasPrefix("New issue in shop 2.4.0"))
            _ = try folder.write("1", to: "status")
            let test = try client.call(
                .testNotifier, TestNotifierParameters(notifier: "oncall"), returning: TestNotifierReply.self)
            #expect(
                test == TestNotifierReply(delivered: false, answer: "exit status 1: refused (delivered by my pager)"))
            _ = try client.report([record("Other")])
            try await eventually("the message is given up") { try notifier(client).givenUp == 1 }
        }
    }

    @Test("A command that never ends delays neither reports nor the end of the daemon, and is killed with its children")
    func hangingCommand() async throws {
        let folder = try ScratchFolder()
        let program = try folder.write(
            "#!/bin/sh\nsleep 1000 &\necho $$ > \(folder.path)/pid.new\n"
                + "mv \(folder.path)/pid.new \(folder.path)/pid\nwait\nsleep 1000\n", to: "page", mode: 0o755)
        try await DaemonFixture.with(
            DaemonConfiguration("[Notify oncall]\nCommand=\(program)\nDelay=0\nRequestTimeout=10min")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Order failed")])
            try await eventually("the command runs") { !folder.text(of: "pid").isEmpty }
            #expect(try notifier(client).state == .sending)
            _ = try client.report([record("Other")])
            #expect(try client.groups().count == 2)
            let begin = ContinuousClock.now
            try daemon.terminate()
            #expect(begin.duration(to: .now) < .seconds(10))
            let group = folder.text(of: "pid").filter { $0 != "\n" }
            try await eventually("no process of the command is left") { !isRunning(group: group) }
            // Both messages are pending. After the next start, they are sent, the first one for the second time.
            _ = try folder.write("#!/bin/sh\ncat > \(folder.path)/message.json\n", to: "page", mode: 0o755)
            try daemon.start()
            let again = try RawClient(path: daemon.socket)
            try await eventually("both messages are delivered") { try notifier(again).delivered == 2 }
            #expect(try notifier(again).repeated >= 1)
        }
    }
}

import FakeLogz
import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import Torture

@Suite("Notifications", .daemonLog)
struct NotificationTests {
    private func configuration(_ receiver: WebhookReceiver, _ text: String = "") -> DaemonConfiguration {
        DaemonConfiguration(
            """
            [Limits]
            NewGroupsPerApplication=0
            [Notify oncall]
            URL=\(receiver.url)
            Delay=50ms
            \(text)
            """)
    }

    private func record(_ message: String, severity: IssueLevel = .error) -> IssueRecord {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", version: "2.4.0"))
    }

    private func notifier(_ client: RawClient) throws -> NotifierStatus {
        // For a moment after a start, the status has no notifier.
        try client.status().notifiers.first ?? NotifierStatus(name: "", format: "")
    }

    private func title(_ message: JSONValue) -> String { message["title"]?.asString ?? "" }

    private func isPossibleRepetition(_ message: JSONValue) -> Bool { message["possible_repetition"] == .bool(true) }

    @Test("A new issue is reported within two seconds; new, critical and regressed issues are each reported once")
    func changes() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver)) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Order failed"), record("Order failed")])
            let stored = ContinuousClock.now
            try await eventually("the message arrives") { receiver.requests.count == 1 }
            #expect(stored.duration(to: receiver.requests[0].at) < .seconds(2))
            #expect(title(receiver.messages[0]).hasPrefix("New issue in shop 2.4.0 on "))
            #expect(title(receiver.messages[0]).hasSuffix(": Order failed"))
            let group = try client.groups()[0].id
            #expect(receiver.messages[0]["issues"]?.asArray?.first?["group"]?.asString == group)

            _ = try client.report([record("Order failed", severity: .critical)])
            _ = try client.report([record("Order failed", severity: .critical)])
            try await eventually("the message arrives") { receiver.requests.count == 2 }
            #expect(title(receiver.messages[1]).hasPrefix("Issue became critical"))

            _ = try client.call(
                .setState, SetStateParameters(group: group, state: .resolved), returning: SetStateReply.self)
            _ = try client.report([record("Order failed")])
            try await eventually("the message arrives") { receiver.requests.count == 3 }
            #expect(title(receiver.messages[2]).hasPrefix("Issue regressed"))

            try await eventually("the fates are known") { try notifier(client).delivered == 3 }
            let status = try notifier(client)
            #expect(status.received == 3 && status.pending == 0 && status.givenUp == 0)
            #expect(status.messages == 3 && status.repeated == 0)
            #expect(status.lastAnswer == "200: accepted")
            #expect(receiver.messages.allSatisfy { !isPossibleRepetition($0) })
        }
    }

    @Test("A message that was in flight at a kill is sent again, and says that it may be a repetition")
    func kill() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver, "RequestTimeout=60s")) { daemon in
            receiver.reply(.silence)
            _ = try RawClient(path: daemon.socket).report([record("Order failed")])
            try await eventually("the message arrives") { receiver.requests.count == 1 }
            // The receiver has the message, but the daemon does not know that.
            try daemon.kill()
            receiver.reply(.status(200))
            try daemon.start()
            try await eventually("the message arrives again") { receiver.requests.count == 2 }
            let (first, second) = (receiver.messages[0], receiver.messages[1])
            #expect(!isPossibleRepetition(first) && isPossibleRepetition(second))
            #expect(first["id"] == second["id"])
            #expect(second["attempt"] == .integer(2))
            #expect(title(second).hasPrefix("(possible repetition) New issue"))
            let client = try RawClient(path: daemon.socket)
            try await eventually("the fate is known") { try notifier(client).delivered == 1 }
            #expect(try notifier(client).repeated == 1)
            // A delivered message is not sent again.
            try daemon.kill()
            try daemon.start()
            let again = try RawClient(path: daemon.socket)
            _ = try again.report([record("Other")])
            try await eventually("the next message arrives") { receiver.requests.count == 3 }
            #expect(title(receiver.messages[2]).contains("Other"))
        }
    }

    @Test(
        "Despite kills at random moments, every new issue is reported, and a repetition says that it may be one",
        .runSeed)
    func kills() async throws {
        let receiver = try WebhookReceiver()
        var generator = SeededGenerator(SeededGenerator.runSeed)
        try await DaemonFixture.with(configuration(receiver, "Rate=0")) { daemon in
            var stored = 0
            // A message lists at most ten issues, and all issues of this test may be pending at the end.
            for round in 0..<5 {
                let client = try RawClient(path: daemon.socket)
                for number in 0..<2 {
                    _ = try client.report([record("Word \(String(repeating: "x", count: round * 2 + number + 1))")])
                    stored += 1
                }
                let enough = receiver.requests.count + Int.random(in: 0...1, using: &generator)
                try await eventually("some were sent") { receiver.requests.count >= enough }
                try daemon.kill()
                try daemon.start()
            }
            let client = try RawClient(path: daemon.socket)
            let groups = Set(try client.groups().map(\.id))
            #expect(groups.count == stored)
            try await eventually("all are reported") {
                let status = try notifier(client)
                return status.received == stored && status.pending == 0
            }
            var told: [String: Int] = [:]
            for message in receiver.messages where !isPossibleRepetition(message) {
                for issue in message["issues"]?.asArray ?? [] { told[issue["group"]?.asString ?? "", default: 0] += 1 }
            }
            #expect(told.values.allSatisfy { $0 == 1 }, "each repetition says that it may be one")
            var all: Set<String> = []
            for message in receiver.messages {
                for issue in message["issues"]?.asArray ?? [] { all.insert(issue["group"]?.asString ?? "") }
            }
            #expect(all == groups)
        }
    }

    @Test("An issue that occurs often in a period escalates once, despite kills, and a silence applies to escalations")
    func escalated() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver, "On=escalated\nEscalated=100/1h")) { daemon in
            var client = try RawClient(path: daemon.socket)
            func report(_ count: Int, _ message: String = "Order failed") throws {
                _ = try client.report(Array(repeating: record(message), count: count))
            }
            try report(99)
            try report(99, "Other")
            // The counts of the last seconds are not stored, but the records are.
            try daemon.kill()
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            try report(1)
            let stored = ContinuousClock.now
            try await eventually("the escalation is reported") { receiver.requests.count == 1 }
            #expect(stored.duration(to: receiver.requests[0].at) < .seconds(2))
            #expect(title(receiver.messages[0]).hasPrefix("Issue escalated in shop 2.4.0 (100 in 1h) on "))
            #expect(receiver.messages[0]["issues"]?.asArray?.first?["escalation"]?.asString == "100 in 1h")
            // If the daemon were killed before the response is stored, it would send the message again.
            try await eventually("the response is stored") { try notifier(client).delivered == 1 }
            try report(500)
            try daemon.kill()
            try daemon.start()
            client = try RawClient(path: daemon.socket)
            try report(500)
            let until = IssueTimestamp.fromNow(.seconds(3600))
            let added = try client.call(
                .addSilence, AddSilenceMessage(silence: IssueSilence(apps: ["shop"], until: until, reason: "deploy")),
                returning: AddSilenceMessage.self)
            try report(100, "Silenced")
            try await eventually("the escalation is silenced") { try notifier(client).silenced == 1 }
            _ = try client.call(
                .endSilence, IDParameters(id: added.silence.id), returning: SilencesReply.self)
            try report(1, "Other")
            try await eventually("the other issue is reported") { receiver.requests.count == 2 }
            #expect(receiver.messages[1]["issues"]?.asArray?.map { $0["title"]?.asString } == ["Other"])
            #expect(try notifier(client).received == 2)
        }
    }

    @Test("300 new issues at once are reported in at most four messages, which count the issues that they do not list")
    func grouping() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver)) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report((0..<300 as Range<Int64>).map { IssueRecord(message: "x", code: $0) })
            try await eventually("all are reported") { try notifier(client).delivered == 300 }
            #expect(receiver.requests.count <= 4)
            let total = receiver.messages.reduce(0) { $0 + ($1["total"]?.asInteger ?? 0) }
            #expect(total == 300)
            #expect(receiver.messages.contains { $0["others"]?.asArray?.isEmpty == false })
        }
    }

    @Test(
        "The flood of one user delays no message about another user's issue",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func neighbours() async throws {
        let receiver = try WebhookReceiver()
        let limits = "Delay=0\nBurst=10\nRate=1/h"
        try await DaemonFixture.with(
            DaemonConfiguration(
                "[Limits]\nNewGroupsPerApplication=0\n[Notify oncall]\nURL=\(receiver.url)\n\(limits)")
        ) { daemon in
            let noisy = try OtherUser.client(12_345, of: daemon)
            let root = try RawClient(path: daemon.socket)
            for code in 0..<500 as Range<Int64> { _ = try noisy.report([IssueRecord(message: "x", code: code)]) }
            try await eventually("the user has used up their share") { try notifier(root).reason == "rate" }
            let sent = receiver.requests.count
            #expect(sent < 10)
            _ = try root.report([record("RAID has failed")])
            try await eventually("the other user's issue is reported") { receiver.requests.count == sent + 1 }
            let titles = receiver.messages.last?["issues"]?.asArray?.compactMap { $0["title"]?.asString } ?? []
            #expect(titles.contains("RAID has failed"))
        }
    }

    @Test("A webhook that fails gets the message later; one that refuses it does not")
    func failures() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver)) { daemon in
            let client = try RawClient(path: daemon.socket)
            receiver.reply(.status(500))
            _ = try client.report([record("One")])
            try await eventually("the failure shows") { try notifier(client).reason == "server_error" }
            try await daemon.logs("Could not send a notification; retrying")
            receiver.reply(.status(200))
            try await eventually("the message is delivered") { try notifier(client).delivered == 1 }
            // The server may have acted on the attempt that it answered with 500.
            #expect(isPossibleRepetition(try #require(receiver.messages.last)))
            receiver.reply(.status(400))
            _ = try client.report([record("Two")])
            try await eventually("the second message is given up") { try notifier(client).givenUp == 1 }
            #expect(try notifier(client).pending == 0)
            try await daemon.logs("Could not deliver a notification; giving it up")
        }
    }

    @Test("A filter and a silence keep issues from a notifier; a silence can be listed and ended")
    func silences() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver, "Severity=error")) { daemon in
            let client = try RawClient(path: daemon.socket)
            let until = IssueTimestamp.fromNow(.seconds(3600))
            let added = try client.call(
                .addSilence, AddSilenceMessage(silence: IssueSilence(apps: ["shop"], until: until, reason: "deploy")),
                returning: AddSilenceMessage.self)
            _ = try client.report([record("Silenced"), record("Quiet", severity: .warning)])
            try await eventually("the issue is silenced") { try notifier(client).silenced == 1 }
            let listed = try client.call(.listSilences, JSONValue.object([]), returning: SilencesReply.self).silences
            #expect(listed.map(\.id) == [added.silence.id] && listed[0].count == 1 && listed[0].reason == "deploy")
            _ = try client.call(.endSilence, IDParameters(id: listed[0].id), returning: SilencesReply.self)
            _ = try client.report([record("Loud")])
            try await eventually("the issue after the silence is reported") { receiver.requests.count == 1 }
            #expect(title(receiver.messages[0]).contains("Loud"))
            // The records of silenced issues are stored.
            #expect(try client.groups().count == 3)
            #expect(
                try client.refusal(
                    of: .addSilence, AddSilenceMessage(silence: IssueSilence(until: until, reason: "all")))
                    == .invalidParameter("apps"))
        }
    }

    @Test("While events are gathered, the status says so, and not that a limit was reached")
    func gathering() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(
            DaemonConfiguration("[Notify oncall]\nURL=\(receiver.url)\nDelay=10min")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report([record("Order failed")])
            try await eventually("the event waits") { try notifier(client).state == .waiting }
            #expect(try notifier(client).reason == "gathering" && receiver.requests.isEmpty)
            #expect(try notifier(client).nextAttempt != nil && notifier(client).pending == 1)
        }
    }

    @Test("The daemon itself refuses a silence with an invalid application, an invalid group or too late an end")
    func wrongSilences() async throws {
        try await DaemonFixture.with(DaemonConfiguration("")) { daemon in
            let client = try RawClient(path: daemon.socket)
            let until = IssueTimestamp.fromNow(.seconds(3600))
            for (silence, name) in [
                (IssueSilence(apps: ["s*p"], until: until, reason: "deploy"), "apps"),
                (IssueSilence(groups: ["g1"], until: until, reason: "deploy"), "groups"),
                (IssueSilence(apps: ["shop"], until: until.advanced(by: .seconds(400 * 86_400)), reason: "x"), "until"),
            ] {
                #expect(
                    try client.refusal(of: .addSilence, AddSilenceMessage(silence: silence)) == .invalidParameter(name))
            }
        }
    }

    @Test("A paused destination is reported once, even if the daemon restarts")
    func pausedDestination() async throws {
        let receiver = try WebhookReceiver()
        let listener = try FakeLogz(FakeLogzOptions(tokens: ["another-token"]))
        defer { listener.stop() }
        try await DaemonFixture.with(
            .forwarding(to: listener, "[Notify oncall]\nURL=\(receiver.url)\nOn=destination-paused\nDelay=0")
        ) { daemon in
            _ = try RawClient(path: daemon.socket).report([record("Order failed")])
            try await eventually("the pause is reported") { receiver.requests.count == 1 }
            #expect(title(receiver.messages[0]).hasPrefix("Destination paused on "))
            #expect(title(receiver.messages[0]).contains(": logzio: unauthorised (401 from "))
            #expect(title(receiver.messages[0]).contains("). The shipping token was rejected: replace it."))
            try await eventually("the fate is stored") {
                try notifier(try RawClient(path: daemon.socket)).delivered == 1
            }
            try daemon.restart()
            try await daemon.logs("Destination paused", count: 2)
            // Messages are sent in order, so a repetition would arrive before the message about the next pause.
            try daemon.folder.remove("token")
            try daemon.reload()
            try await eventually("the next pause is reported") {
                receiver.messages.contains { title($0).contains(": logzio: no_credential (") }
            }
            #expect(receiver.requests.count == 2)
        }
    }

    @Test("A destination that is unreachable for long is reported once, even across a restart, and so is its recovery")
    func delayedDestination() async throws {
        let receiver = try WebhookReceiver()
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let on = "On=destination-delayed destination-recovered"
        try await DaemonFixture.with(
            .forwarding(to: listener, "[Notify oncall]\nURL=\(receiver.url)\n\(on)\nDelay=0")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            try listener.down()
            _ = try client.report([record("Order failed")])
            try await daemon.logs("destination.unreachable")
            try daemon.terminate()
            try DatabaseFile(daemon.database, writable: true).execute(
                """
                UPDATE destinations SET
                    state = json_set(state, '$.failing_since', json_extract(state, '$.failing_since') - 1200000)
                """)
            try daemon.start()
            try await eventually("the delay is reported") { receiver.requests.count == 1 }
            #expect(title(receiver.messages[0]).hasPrefix("Destination delayed on "))
            #expect(
                title(receiver.messages[0])
                    .contains(": logzio: has not accepted records for 20 min: refused ("))
            try daemon.reload()
            try daemon.restart()
            try listener.up()
            // Messages are sent in order, so a repetition would arrive before the message about the recovery.
            try await eventually("the recovery is reported") { receiver.requests.count == 2 }
            #expect(title(receiver.messages[1]).hasPrefix("Destination recovered on "))
            #expect(title(receiver.messages[1]).hasSuffix(": logzio: accepts records again after 20 min"))
        }
    }

    @Test("A limit that holds back an application's records is reported only once, even if the daemon reloads")
    func reachedLimit() async throws {
        let receiver = try WebhookReceiver()
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let limits = ["shop", "desk"].map { "[Limits \($0)]\nApplicationBurst=5\nApplicationRefill=1/h\n" }.joined()
        try await DaemonFixture.with(
            .forwarding(to: listener, "\(limits)[Notify oncall]\nURL=\(receiver.url)\nOn=limit-reached\nDelay=0")
        ) { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report(Array(repeating: record("Order failed"), count: 50))
            try await eventually("the limit is reported") { receiver.requests.count == 1 }
            let text = "application shop of user \(getuid()) exceeds ApplicationBurst= of logzio"
            #expect(title(receiver.messages[0]).contains(": \(text)"))
            try daemon.reload()
            _ = try client.report(Array(repeating: record("Order failed"), count: 50))
            try await eventually("no record is pending") { try client.destination().ledger.pending == 0 }
            // Messages are sent in order, so a repetition would arrive before the message about the next application.
            _ = try client.report(
                Array(repeating: IssueRecord(message: "Order failed", app: Application(name: "desk")), count: 50))
            try await eventually("the next limit is reported") {
                receiver.messages.contains { title($0).contains("application desk of user") }
            }
            #expect(receiver.requests.count == 2)
        }
    }

    @Test("A set-aside database is reported as a store fault")
    func damage() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with(configuration(receiver)) { daemon in
            _ = try RawClient(path: daemon.socket).report([record("Order failed")])
            try await eventually("the issue is reported") { receiver.requests.count == 1 }
            try daemon.terminate()
            try DatabaseFile(daemon.database, writable: true).execute("PRAGMA user_version = 9999")
            try daemon.start()
            try await eventually("the set-aside database is reported") { receiver.requests.count == 2 }
            #expect(title(receiver.messages[1]).hasPrefix("Store fault on "))
        }
    }

    @Test("Sending a test message returns the receiver's answer; a secret URL is in neither the log nor the status")
    func secretURL() async throws {
        let receiver = try WebhookReceiver()
        let secret = "T0SECRETPATH"
        try await DaemonFixture.with(
            DaemonConfiguration("[Notify oncall]\nURLCredential=TOKENFILE\nFormat=slack\nDelay=0"), starts: false
        ) { daemon in
            try daemon.writeToken("\(receiver.url)/\(secret)?key=\(secret)")
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            func test(_ name: String) throws -> TestNotifierReply {
                try client.call(.testNotifier, TestNotifierParameters(notifier: name))
            }
            #expect(try test("oncall") == TestNotifierReply(delivered: true, answer: "200: accepted"))
            #expect(receiver.requests[0].head.contains("/hook/\(secret)?key=\(secret)"))
            #expect(receiver.messages[0]["text"]?.asString?.hasPrefix("*Test of notifier oncall") == true)
            receiver.reply(.status(404))
            #expect(try test("oncall").delivered == false)
            try await daemon.logs("not delivered: 404")
            #expect(
                try client.refusal(of: .testNotifier, TestNotifierParameters(notifier: "none")) == .notFound(id: "none")
            )
            _ = try client.report([record("Order failed")])
            try await eventually("the failure shows") { try notifier(client).state == .paused }
            try client.begin(.status, JSONValue.object([]))
            let status = String(decoding: try client.reply().parameters, as: UTF8.self)
            #expect(status.contains("127.0.0.1") && !status.contains(secret))
            try daemon.terminate()
            #expect(!daemon.log.contains(secret))
        }
    }

    @Test("A notifier with an error is shown as misconfigured; after a reload without the error, it sends messages")
    func misconfigured() async throws {
        let receiver = try WebhookReceiver()
        try await DaemonFixture.with("[Notify oncall]\nURL=nonsense") { daemon in
            let client = try RawClient(path: daemon.socket)
            #expect(try notifier(client).reason == "misconfigured")
            try daemon.configure(configuration(receiver))
            try daemon.reload()
            _ = try client.report([record("Order failed")])
            try await eventually("the issue is reported") { receiver.requests.count == 1 }
            #expect(try notifier(client).format == "json")
        }
    }
}

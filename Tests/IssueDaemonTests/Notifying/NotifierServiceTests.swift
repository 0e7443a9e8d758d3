import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The service of a notifier, and failures of its store")
struct NotifierServiceTests {
    private func isRepetition(_ message: JSONValue) -> Bool { message["possible_repetition"] == .bool(true) }

    private func titles(_ message: JSONValue) -> [String] {
        message["issues"]?.asArray?.compactMap { $0["title"]?.asString } ?? []
    }

    @Test("An event that can't be stored is sent once when it has been stored; the log has one line about the failure")
    func unstoredEvent() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("INSERT ON notices")
            try fixture.report("Order failed")
            try fixture.wait(for: .notifierFailed)
            try fixture.report("Other")
            try fixture.repair()
            try waitUntil("both are delivered") { fixture.status?.delivered == 2 }
            let messages = try fixture.messages
            #expect(messages.flatMap(titles) == ["Order failed", "Other"])
            #expect(!messages.contains(where: isRepetition))
            #expect(fixture.lineCount(.notifierFailed) == 1)
        }
    }

    @Test("A message is not sent before it is stored")
    func unstoredMessage() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("INSERT ON messages")
            try fixture.report("Order failed")
            try fixture.wait(for: .notifierFailed)
            #expect(try fixture.messages.isEmpty)
            try fixture.repair()
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            #expect(fixture.status?.state == .idle)
            #expect(try fixture.messages.map { $0["attempt"] } == [.integer(1)])
            #expect(try !isRepetition(fixture.messages[0]))
        }
    }

    @Test("While the store fails, a notifier is shown as waiting for the store, not in its state before the failure")
    func stateDuringFailure() throws {
        try NotifierFixture.with { fixture in
            try fixture.report("Order failed")
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            try fixture.fail("INSERT ON notices")
            try fixture.report("Other")
            try waitUntil("it waits") { fixture.status?.reason == "store_failed" }
            #expect(fixture.status?.state == .waiting && fixture.status?.nextAttempt != nil)
            #expect(fixture.status?.delivered == 1)
            try fixture.repair()
            try waitUntil("the other one is delivered") { fixture.status?.delivered == 2 }
            #expect(fixture.status?.state == .idle && fixture.status?.reason == nil)
        }
    }

    @Test("A message is not sent again before the new attempt is stored")
    func unstoredAttempt() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("UPDATE OF attempts ON messages")
            // Temporary failure: it was not delivered.
            try fixture.exit(with: 75)
            try fixture.report("Order failed")
            try fixture.wait(for: .notifierFailed)
            #expect(try fixture.messages.count == 1)
            try fixture.exit(with: 0)
            try fixture.repair()
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            #expect(try fixture.messages.map { $0["attempt"] } == [.integer(1), .integer(2)])
            #expect(try !fixture.messages.contains(where: isRepetition))
            #expect(fixture.status?.repeated == 0)
        }
    }

    @Test("If the result of an attempt can't be stored, the message is sent again, as a possible repetition")
    func unstoredResult() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("UPDATE ON messages", when: "NEW.settled_at IS NOT NULL")
            try fixture.report("Order failed")
            try fixture.wait(for: .notifierFailed)
            #expect(fixture.status?.delivered == 0)
            try fixture.repair()
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            let messages = try fixture.messages
            #expect(messages.count >= 2 && Set(messages.map { $0["id"]?.asString }).count == 1)
            #expect(messages.map(isRepetition) == [false] + messages.dropFirst().map { _ in true })
            #expect(fixture.status?.repeated == 1)
        }
    }

    @Test("A fault of the store is reported although it can't be stored, and only once")
    func faultOfStore() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("INSERT ON notices")
            let fault = DaemonEvent(kind: .storeFault, text: "reports are refused", at: Clock.wall)
            fixture.service.report(fault)
            try fixture.wait(for: .notifierUnstored)
            let message = try #require(try fixture.messages.first)
            #expect(message["events"]?.asArray?.first?["text"]?.asString == "reports are refused")
            #expect(message["id"]?.asString?.hasPrefix("oncall-unstored-") == true)
            try fixture.repair()
            try fixture.report("Order failed")
            try waitUntil("the next one is delivered") { fixture.status?.delivered == 1 }
            #expect(try fixture.messages.map(titles) == [[], ["Order failed"]])
        }
    }

    @Test("Events that can't be stored are sent until they are delivered; the first and last attempt are logged")
    func repeatedFault() throws {
        try NotifierFixture.with { fixture in
            try fixture.fail("INSERT ON notices")
            try fixture.exit(with: 75)
            fixture.service.report(DaemonEvent(kind: .storeFault, text: "reports are refused", at: Clock.wall))
            try fixture.wait(for: .notifierUnstored)
            try fixture.exit(with: 0)
            try fixture.wait(for: .notifierUnstored, count: 2)
            let attempts = try fixture.messages.map { $0["attempt"]?.asInteger }
            #expect(attempts.count >= 2 && attempts == attempts.indices.map { Int64($0 + 1) })
            #expect(fixture.lineCount(.notifierFailed) == 1)
        }
    }

    @Test("Occurrences that could not be stored are counted once, and the escalation is reported once")
    func unstoredEscalation() throws {
        try NotifierFixture.with({
            $0.filter.kinds = .escalated
            $0.escalated = Rate(3, per: .seconds(3600))
        }) { fixture in
            try fixture.fail("INSERT ON notices")
            try fixture.report("Order failed", "Order failed", "Order failed", "Other", "Other")
            try fixture.wait(for: .notifierFailed)
            try fixture.repair()
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            #expect(try fixture.messages.map(titles) == [["Order failed"]])
            try fixture.report("Other")
            try waitUntil("the other one is delivered") { fixture.status?.delivered == 2 }
            #expect(try fixture.messages.map(titles) == [["Order failed"], ["Other"]])
        }
    }

    @Test(
        "Imported records cause no event and count for no escalation, whether or not the old database had limited them",
        arguments: [100, 0])
    func importedRecords(newGroups: Int64) throws {
        try NotifierFixture.with({
            $0.filter.kinds = .all
            $0.escalated = Rate(3, per: .seconds(3600))
        }) { fixture in
            var limits = LimitSettings()
            limits.newGroupsPerApplication = Rate(newGroups, per: .seconds(900))
            try fixture.importRecords(
                (1...5).map { IssueRecord(message: "Old \($0)", severity: .critical, app: Application(name: "shop")) },
                limits: limits)
            try fixture.report("Order failed")
            try waitUntil("the new issue is delivered") { fixture.status?.delivered == 1 }
            try fixture.report("Order failed", "Order failed")
            try waitUntil("the escalation is delivered") { fixture.status?.delivered == 2 }
            let items = try fixture.messages.flatMap { $0["issues"]?.asArray ?? [] }
            #expect(items.map { $0["title"]?.asString } == ["Order failed", "Order failed"])
            #expect(items.map { $0["kinds"] } == [.array([.string("new")]), .array([.string("escalated")])])
            #expect(fixture.status?.received == 2)
        }
    }

    @Test("The escalation of an overflow issue has the title of that issue, and not of a record in it")
    func overflowIssue() throws {
        try NotifierFixture.with({
            $0.filter.kinds = .escalated
            $0.escalated = Rate(3, per: .seconds(3600))
        }) { fixture in
            let limit = LimitSettings().newGroupsPerApplication.count
            let letters = "abcdefghijklmnopqrstuvwxyz"
            let words = letters.flatMap { first in letters.map { "\(first)\($0)" } }
            for word in words.prefix(Int(limit) + 3) { try fixture.report("Cannot \(word)") }
            try waitUntil("the escalation is delivered") { fixture.status?.delivered == 1 }
            #expect(
                try fixture.messages.map(titles)
                    == [["too many issues of this application to store them separately"]])
        }
    }

    @Test("An issue whose record was erased before the message is sent is counted, and not named")
    func erasedRecord() throws {
        try NotifierFixture.with { fixture in
            try fixture.exit(with: 75)
            try fixture.report("Order failed")
            try waitUntil("the first attempt fails") { fixture.status?.reason == "command_failed" }
            let erased = try fixture.writer.perform { writer in
                try writer.closeOpenRange()
                return try writer.erase([1]).records
            }
            #expect(erased == 1)
            try fixture.exit(with: 0)
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            let messages = try fixture.messages
            #expect(titles(messages[0]) == ["Order failed"])
            let last = try #require(messages.last)
            #expect(titles(last).isEmpty && last["total"] == .integer(1))
        }
    }

    @Test("After it gives up events, a notifier counts as delivering nothing until a test or a message is accepted")
    func lastGivenUp() throws {
        try NotifierFixture.with { fixture in
            try fixture.report("Order failed")
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            #expect(fixture.status?.deliversNothing == false)
            try fixture.exit(with: 1)
            let begin = Clock.wall
            try fixture.report("Other")
            try waitUntil("it is given up") { fixture.status?.givenUp == 1 }
            #expect(fixture.status?.lastGivenUp.map { $0 >= begin } == true)
            #expect(fixture.status?.deliversNothing == true)
            try fixture.exit(with: 0)
            let reply = Monitor<TestNotifierReply?>(nil)
            fixture.service.test { result in
                reply.withLock { $0 = result }
                reply.broadcast()
            }
            let result = reply.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) { $0 }
            #expect(result?.delivered == true)
            #expect(fixture.status?.deliversNothing == false)
            #expect(fixture.status?.delivered == 1)
            #expect(fixture.status?.lastAnswer == "exit status 0: accepted")

            try fixture.exit(with: 1)
            try fixture.report("A third one")
            try waitUntil("it is given up") { fixture.status?.givenUp == 2 }
            #expect(fixture.status?.deliversNothing == true)
            try fixture.exit(with: 0)
            try fixture.report("A fourth one")
            try waitUntil("it is delivered") { fixture.status?.delivered == 2 }
            #expect(fixture.status?.deliversNothing == false)
        }
    }

    @Test("If the notifier's row in the store is missing, the notifier ends and sends nothing more")
    func missingRow() throws {
        try NotifierFixture.with { fixture in
            try fixture.report("Order failed")
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            try fixture.execute("DELETE FROM notifiers")
            try fixture.report("Other")
            #expect(fixture.hasEnded())
            #expect(try fixture.messages.count == 1)
            #expect(fixture.lineCount(.notifierFailed) == 0)
        }
    }

    @Test("When the store is closed, the notifier ends without an error")
    func closedStore() throws {
        try NotifierFixture.with { fixture in
            try fixture.report("Order failed")
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            fixture.writer.stop()
            try waitUntil("the store is closed") {
                (try? fixture.writer.perform { _ in true }) == nil
            }
            fixture.service.report(DaemonEvent(kind: .destinationPaused, text: "logzio", at: Clock.wall))
            #expect(fixture.hasEnded())
            #expect(fixture.lineCount(.notifierFailed) == 0)
        }
    }
}

@Suite("Notifiers across a reload")
struct NotifiersTests {
    private func texts(_ messages: [JSONValue]) -> [String] {
        messages.flatMap { message in
            message["events"]?.asArray?.compactMap { $0["text"]?.asString } ?? []
        }
    }

    @Test("Events that are reported before a start, while a notifier is busy, or during a reload are delivered")
    func reload() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            notifiers.report(.destinationPaused, "early")
            #expect(try fixture.start(notifiers, "oncall"))
            defer { notifiers.stop(timeout: .zero) }
            try waitUntil("the early one is delivered") { fixture.status?.delivered == 1 }

            try fixture.holdProgram()
            notifiers.report(.destinationPaused, "in flight")
            try waitUntil("the program runs") { fixture.hasProgramBegun }
            notifiers.report(.destinationPaused, "waiting")
            notifiers.stop(timeout: .zero)
            notifiers.report(.destinationPaused, "between")
            try fixture.releaseProgram()
            #expect(try fixture.start(notifiers, "oncall"))
            try waitUntil("all are delivered") { fixture.status?.delivered == 4 }
            #expect(try Set(texts(fixture.messages)) == ["early", "in flight", "waiting", "between"])
        }
    }

    @Test("While the store can't be opened, events of the daemon are sent; those that fail are sent when it is open")
    func withoutStore() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            defer { notifiers.stop(timeout: .zero) }
            fixture.startWithoutStore(notifiers, "oncall")
            #expect(fixture.status?.state == .waiting && fixture.status?.reason == "store_failed")
            notifiers.report(.storeFault, "not opened")
            try fixture.wait(for: .notifierUnstored)
            #expect(try texts(fixture.messages) == ["not opened"])
            try fixture.exit(with: 75)
            notifiers.report(.storeFault, "refused")
            try fixture.wait(for: .notifierUnstored, count: 2)
            try fixture.exit(with: 0)
            #expect(try fixture.start(notifiers, "oncall"))
            try waitUntil("the second one is delivered") { fixture.status?.delivered == 1 }
            #expect(try texts(fixture.messages) == ["not opened", "refused", "refused"])
        }
    }

    @Test("While the section of the only notifier has an error, events are kept until a reload without that error")
    func misconfigured() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            notifiers.report(.destinationPaused, "early")
            #expect(try fixture.start(notifiers, misconfigured: ["oncall"]))
            notifiers.report(.destinationPaused, "meanwhile")
            notifiers.stop(timeout: .zero)
            #expect(try fixture.start(notifiers, "oncall"))
            defer { notifiers.stop(timeout: .zero) }
            try waitUntil("both are delivered") { fixture.status?.delivered == 2 }
            #expect(try Set(texts(fixture.messages)) == ["early", "meanwhile"])
        }
    }

    @Test("While the section of a notifier has an error, its status counts the events that are kept")
    func keptCounts() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            try fixture.exit(with: 75)
            #expect(try fixture.start(notifiers, "oncall"))
            notifiers.report(.destinationPaused, "early")
            try waitUntil("it is tried") { fixture.status?.lastAnswer != nil }
            notifiers.stop(timeout: .seconds(60))
            #expect(try fixture.start(notifiers, misconfigured: ["oncall"]))
            defer { notifiers.stop(timeout: .zero) }
            let status = fixture.status
            #expect(status?.state == .paused && status?.received == 1 && status?.pending == 1)
            #expect(status?.oldestPending != nil)
        }
    }

    @Test("If a notifier is removed while its events wait, one line of the log has its name and the number of events")
    func removed() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            defer { notifiers.stop(timeout: .zero) }
            try fixture.exit(with: 75)
            #expect(try fixture.start(notifiers, "oncall", "idle"))
            for text in ["one", "two"] { notifiers.report(.destinationPaused, text) }
            try waitUntil("both wait") {
                ["oncall", "idle"].allSatisfy { fixture.status(of: $0)?.pending == 2 }
            }
            notifiers.stop(timeout: .seconds(60))
            #expect(try fixture.start(notifiers, misconfigured: ["oncall"]))
            #expect(fixture.logged(.notifierRemoved).map { $0.contains("notifier=idle events=2") } == [true])
            notifiers.stop(timeout: .zero)
            for _ in 0..<2 {
                #expect(try fixture.start(notifiers))
                notifiers.stop(timeout: .zero)
            }
            let lines = fixture.logged(.notifierRemoved)
            #expect(lines.count == 2 && lines.last?.contains("notifier=oncall events=2") == true)
        }
    }

    @Test("Events that neither the store nor the receiver accepts are delivered exactly once after a reload")
    func failures() throws {
        try NotifierFixture.with { fixture in
            let notifiers = Notifiers()
            #expect(try fixture.start(notifiers, "oncall"))
            defer { notifiers.stop(timeout: .zero) }
            try fixture.fail("INSERT ON notices")
            try fixture.exit(with: 75)
            notifiers.report(.storeFault, "reports are refused")
            try fixture.wait(for: .notifierUnstored)
            notifiers.stop(timeout: .seconds(60))
            try fixture.repair()
            try fixture.exit(with: 0)
            let attempts = try fixture.messages.count
            #expect(try fixture.start(notifiers, "oncall"))
            try waitUntil("it is delivered") { fixture.status?.delivered == 1 }
            #expect(try texts(Array(fixture.messages.dropFirst(attempts))) == ["reports are refused"])
        }
    }

    @Test("If the thread of a notifier can't be started, the others run, and its events are sent after a later start")
    func threadFailure() throws {
        try NotifierFixture.with { fixture in
            let isFailing = Monitor(true)
            let notifiers = Notifiers { name, body in
                if name == "notify-first", isFailing.withLock({ $0 }) { throw Errno.wouldBlock }
                return try JoinableThread(name: name, body)
            }
            notifiers.report(.destinationPaused, "early")
            #expect(try !fixture.start(notifiers, "first", "second"))
            defer { notifiers.stop(timeout: .zero) }
            try waitUntil("the other one delivers it") { fixture.status(of: "second")?.delivered == 1 }
            #expect(notifiers.test("first")?.delivered == false)
            notifiers.report(.destinationPaused, "late")
            #expect(try !fixture.start(notifiers, "first", "second"))
            #expect(fixture.lineCount(.notifierFailed) == 1)

            isFailing.withLock { $0 = false }
            #expect(try fixture.start(notifiers, "first", "second"))
            try waitUntil("both are delivered") { fixture.status(of: "first")?.delivered == 2 }
            try waitUntil("by the other one, too") { fixture.status(of: "second")?.delivered == 2 }
        }
    }
}

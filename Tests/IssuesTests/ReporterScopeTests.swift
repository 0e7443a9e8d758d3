import Issues
import Synchronization
import Testing

@Suite("Scopes of reporters")
struct ReporterScopeTests {
    @Test("The innermost scope decides")
    func nesting() {
        let outer = Collector()
        let inner = Collector()

        withIssueReporters([outer]) {
            reportIssue("before")
            withIssueReporters([inner]) { reportIssue("within") }
            reportIssue("after")
        }

        #expect(outer.messages == ["before", "after"])
        #expect(inner.messages == ["within"])
    }

    @Test("Assigning changes the innermost scope and no other")
    func assignment() {
        let outer = Collector()
        let inner = Collector()

        withIssueReporters([outer]) {
            withIssueReporters([]) {
                IssueReporters.current = [inner]
                reportIssue("within")
            }
            reportIssue("after")
        }

        #expect(outer.messages == ["after"])
        #expect(inner.messages == ["within"])
    }

    @Test("A scope reaches into child tasks, and not into detached ones")
    func tasks() async {
        let collector = Collector()
        let detached = Detached()

        await withIssueReporters([collector]) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { reportIssue("child") }
            }
            await Task.detached { await detached.look() }.value
        }

        #expect(collector.messages == ["child"])
        #expect(await detached.reporters.contains { $0 is Collector } == false)
        #expect(await detached.reporters.count == 1)
    }

    @Test("A reporter that hands on by a scope of its own reaches the other one")
    func forwarding() {
        struct Forwarder: IssueSink {
            let other: Collector

            func receive(_ report: IssueReport) {
                withIssueReporters([other]) { Issues.reportIssue("forwarded: \(report.message)") }
            }
        }
        let other = Collector()

        withIssueReporters([Forwarder(other: other)]) { reportIssue("m") }

        #expect(other.messages == ["forwarded: m"])
    }

    @Test("A task that a reporter has started reports like any other", arguments: [true, false])
    func startedTask(waits: Bool) async {
        final class Uploader: IssueSink {
            let task = Mutex<Task<Void, Never>?>(nil)
            let messages = Mutex<[String]>([])
            let gate = AsyncStream.makeStream(of: Void.self)

            func receive(_ report: IssueReport) {
                messages.withLock { $0.append(report.message) }
                guard report.message == "first" else { return }
                let stream = gate.stream
                let begun = Task {
                    for await _ in stream { break }
                    Issues.reportIssue("from the task")
                    await Task.yield()
                    withIssueMetadata(["a": 1]) { Issues.reportIssue("and again") }
                }
                task.withLock { $0 = begun }
            }
        }
        let uploader = Uploader()

        withIssueReporters([uploader]) {
            if !waits { uploader.gate.continuation.yield() }
            reportIssue("first")
        }
        uploader.gate.continuation.yield()
        await uploader.task.withLock { $0 }?.value

        #expect(uploader.messages.withLock { $0 } == ["first", "from the task", "and again"])
    }

    @Test("A message that itself reports loses neither of the two issues")
    func reportingMessage() {
        func price() -> Int {
            reportIssue("no price")
            return 0
        }
        let sink = Collector()
        let old = OldReporter()

        withIssueReporters([sink, old]) {
            reportIssue("costs \(price())", metadata: ["price": .init(price())])
        }
        #expect(sink.messages == ["no price", "no price", "costs 0"])
        #expect(old.issues.map(\.message) == ["no price", "no price", "costs 0"])

        withIssueReporters([old]) { reportIssue("costs \(price()) again") }
        #expect(old.issues.map(\.message).suffix(2) == ["no price", "costs 0 again"])
    }

    @Test("In a test a message that itself reports fails it twice")
    func reportingMessageInTest() {
        func price() -> Int {
            reportIssue("no price")
            return 0
        }
        let seen = Mutex<[String]>([])
        withKnownIssue {
            reportIssue("costs \(price())")
        } matching: { issue in
            let text = "\(issue.description)"
            seen.withLock { $0.append(text) }
            return true
        }
        #expect(
            seen.withLock { $0.sorted() } == [
                "Issue recorded (error): costs 0", "Issue recorded (error): no price",
            ])
    }

    @Test("An error whose description reports an issue loses neither issue")
    func reportingError() {
        struct Loud: Error, CustomStringConvertible {
            var description: String {
                reportIssue("asked for words")
                return "loud"
            }
        }
        let sink = Collector()
        withIssueReporters([sink]) { reportIssue(Loud()) }
        #expect(sink.messages.contains("asked for words"))
        #expect(sink.messages.last == "loud")
    }

    @Test("The same sink twice is told twice")
    func twice() {
        let collector = Collector()

        withIssueReporters([collector, collector]) { reportIssue("m") }

        #expect(collector.messages == ["m", "m"])
    }

    @Test("The call's metadata wins over an inner scope's, and that over an outer one's")
    func metadata() async {
        let collector = Collector()

        await withIssueReporters([collector]) {
            await withIssueMetadata(["a": "outer", "b": "outer", "c": "outer"]) {
                await Task.yield()
                withIssueMetadata(["b": "inner", "c": "inner"]) {
                    reportIssue("m", metadata: ["c": "call"])
                }
                reportIssue("n")
            }
            reportIssue("o")
        }

        #expect(
            collector.reports.map(\.metadata) == [
                ["a": "outer", "b": "inner", "c": "call"], ["a": "outer", "b": "outer", "c": "outer"], [:],
            ])
    }

    @Test("A report that is made by hand carries the scope's metadata too")
    func byHand() {
        let report = withIssueMetadata(["a": 1]) { IssueReport("m", metadata: ["b": 2]) }

        #expect(report.metadata == ["a": 1, "b": 2])
    }
}

private actor Detached {
    private(set) var reporters: [any IssueReporter] = []

    func look() {
        reporters = IssueReporters.current
    }
}

import Issues
import Synchronization
import Testing

@Suite("Scopes of reporters")
struct ReporterScopeTests {
    @Test("The innermost scope takes precedence")
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

    @Test("Assigning the current reporters changes only the innermost scope")
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

    @Test("A scope extends to child tasks, but not to detached tasks")
    func tasks() async {
        let collector = Collector()
        let detached = Detached()

        await withIssueReporters([collector]) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { reportIssue("child") }
            }
            await Task.detached { await detached.readScope() }.value
        }

        #expect(collector.messages == ["child"])
        #expect(await detached.reporters.contains { $0 is Collector } == false)
        #expect(await detached.reporters.count == 1)
    }

    @Test("A reporter can forward an issue to another reporter in a scope of its own")
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

    @Test("A reporter receives the issues of a task that it has started", arguments: [true, false])
    func startedTask(waits: Bool) async {
        final class UploadingSink: IssueSink {
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
        let uploader = UploadingSink()

        withIssueReporters([uploader]) {
            if !waits { uploader.gate.continuation.yield() }
            reportIssue("first")
        }
        uploader.gate.continuation.yield()
        await uploader.task.withLock { $0 }?.value

        #expect(uploader.messages.withLock { $0 } == ["first", "from the task", "and again"])
    }

    @Test("If a message closure reports an issue itself, both issues arrive")
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

    @Test("In a test, a message closure that reports an issue causes two failures")
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

    @Test("If the description of an error reports an issue itself, both issues arrive")
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

    @Test("A sink that is listed twice receives each issue twice")
    func twice() {
        let collector = Collector()

        withIssueReporters([collector, collector]) { reportIssue("m") }

        #expect(collector.messages == ["m", "m"])
    }

    @Test("Metadata of the call takes precedence over metadata of scopes, and an inner scope over an outer one")
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

    @Test("A report that is created directly includes the scope's metadata")
    func byHand() {
        let report = withIssueMetadata(["a": 1]) { IssueReport("m", metadata: ["b": 2]) }

        #expect(report.metadata == ["a": 1, "b": 2])
    }
}

private actor Detached {
    private(set) var reporters: [any IssueReporter] = []

    func readScope() {
        reporters = IssueReporters.current
    }
}

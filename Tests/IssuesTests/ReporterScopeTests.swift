import Issues
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

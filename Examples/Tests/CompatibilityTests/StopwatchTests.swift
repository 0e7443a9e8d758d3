import Issues
import Stopwatch
import StopwatchTestSupport
import Synchronization
import Testing

private final class CollectingSink: IssueSink {
    let reports = Mutex<[IssueReport]>([])

    func receive(_ report: IssueReport) {
        reports.withLock { $0.append(report) }
    }
}

@Suite("A package that depends on xctest-dynamic-overlay")
struct StopwatchTests {
    private func reports(_ body: () -> Void) -> [IssueReport] {
        let sink = CollectingSink()
        withIssueReporters([sink], operation: body)
        return sink.reports.withLock { $0 }
    }

    @Test("It builds unchanged, and its issues reach the reporters of Issues")
    func reported() {
        let found = reports {
            Stopwatch { -1 }.stop()
            Stopwatch.stopped.reset()
            Stopwatch.stopped.stop()
            Stopwatch().stop()
        }
        #expect(found.count == 3)
        #expect(found.first?.message == "The stopwatch runs backwards")
        #expect(found.first?.site.fileID.description == "CompatibilityTests/StopwatchTests.swift")
        #expect(found.dropFirst().first?.message == "The stopwatch can't be reset")
        #expect(found.last?.message.hasPrefix("Unimplemented: Stopwatch.read") == true)
    }

    @Test("A closure without a placeholder reports its call and returns an empty value")
    func withoutPlaceholder() async throws {
        let sink = CollectingSink()
        let store = LapStore()
        await withIssueReporters([sink]) {
            #expect(store.count() == 0)
            #expect(!store.isFull(3))
            #expect(store.name(4, "a") == nil)
            #expect(await store.laps() == [])
            #expect(store.byName() == [:])
            #expect(store.unit() == .second)
            for await _ in store.changes() { Issue.record("The stream is not empty") }
            #expect(throws: UnimplementedFailure.self) { try store.store(1) }
            store.reset()
        }
        let names = ["count", "isFull", "name", "laps", "byName", "unit", "changes", "store", "reset"]
        let messages = sink.reports.withLock { $0.map(\.message) }
        #expect(messages.count == names.count)
        for (message, name) in zip(messages, names) {
            #expect(message.hasPrefix("Unimplemented: LapStore.\(name) "))
        }
        #expect(messages.dropFirst(2).first?.hasSuffix("(4, \"a\")") == true)
    }

    @Test("A closure without a placeholder ends the program if its type has no empty value")
    func withoutEmptyValue() async {
        await #expect(processExitsWith: .failure) { withIssueReporters([]) { _ = LapStore().newest() } }
    }

    @Test("Its issues fail a test that doesn't expect them")
    func failing() {
        withExpectedIssue { Stopwatch { -1 }.stop() }
    }
}

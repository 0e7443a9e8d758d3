import Issues
import Synchronization
import Testing

private indirect enum Caught: Error {
    case end
    case caught(any Error)
    case pair(Int, any Error)
}

private final class Ring: ReportableError {
    let next = Mutex<Ring?>(nil)
    let name: String
    var message: String { name }
    var underlyingErrors: [any Error] { [next.withLock { $0 }].compactMap(\.self) }

    init(_ name: String) { self.name = name }
}

/// Has itself for a cause, in a new copy each time.
private struct Mirrored: ReportableError {
    var message: String { "mirrored" }
    var underlyingErrors: [any Error] { [Mirrored()] }
}

/// Has two others for causes, each of which has two others.
private struct Tree: ReportableError {
    var name = "t"
    var message: String { name }
    var underlyingErrors: [any Error] { [Tree(name: name + "0"), Tree(name: name + "1")] }
}

@Suite("Causes of errors")
struct CauseTests {
    @Test("An error that a case holds is a cause")
    func carried() {
        let causes = IssueReport(Caught.caught(Caught.pair(1, CancellationError()))).causes
        #expect(causes.count == 2)
        #expect(causes.last?.message == "CancellationError()")
    }

    @Test("Errors that are each other's causes end")
    func ring() {
        let first = Ring("first")
        let second = Ring("second")
        first.next.withLock { $0 = second }
        second.next.withLock { $0 = first }
        #expect(IssueReport(first).causes.map(\.message) == ["second"])
        first.next.withLock { $0 = nil }
    }

    @Test("What lies beneath an error that says the same as the one above it is a cause still")
    func same() {
        let error = Problem("Save failed.", cause: Problem("Save failed.", cause: Problem("Disk full", code: 28)))
        #expect(IssueReport(error).causes.map(\.message) == ["Disk full"])
    }

    @Test("An error that is its own cause ends")
    func mirrored() {
        #expect(IssueReport(Mirrored()).causes.isEmpty)
    }

    @Test("A hundred errors within each other, or a million beside each other, end")
    func bounds() {
        let deep = (0..<100).reduce(Caught.end) { error, _ in .caught(error) }
        #expect(IssueReport(deep).causes.count <= 16)
        #expect(IssueReport(Tree()).causes.count == 16)
    }
}

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

/// Has a new copy of itself as its cause.
private struct Mirrored: ReportableError {
    var message: String { "mirrored" }
    var underlyingErrors: [any Error] { [Mirrored()] }
}

private struct Failed: ReportableError {
    var message: String
    var cause: (any Error)?
    var underlyingErrors: [any Error] { [cause].compactMap(\.self) }
}

/// Has two causes with two causes each, and so on.
private struct Tree: ReportableError {
    var name = "t"
    var message: String { name }
    var underlyingErrors: [any Error] { [Tree(name: name + "0"), Tree(name: name + "1")] }
}

/// Has sixteen causes that read the same, with sixteen causes each, and so on.
private struct Alike: ReportableError {
    static let count = Mutex(0)
    var message: String { "alike" }
    var underlyingErrors: [any Error] {
        Self.count.withLock { $0 += 1 }
        return Array(repeating: Alike(), count: 16)
    }
}

@Suite("Causes of errors")
struct CauseTests {
    @Test("An error in an associated value is a cause")
    func carried() {
        let causes = IssueReport(Caught.caught(Caught.pair(1, CancellationError()))).causes
        #expect(causes.count == 2)
        #expect(causes.last?.message == "CancellationError()")
    }

    @Test("Reading a cycle of causes terminates")
    func ring() {
        let first = Ring("first")
        let second = Ring("second")
        first.next.withLock { $0 = second }
        second.next.withLock { $0 = first }
        #expect(IssueReport(first).causes.map(\.message) == ["second"])
        first.next.withLock { $0 = nil }
    }

    @Test("A cause that reads the same as its parent is omitted, but its own causes are included")
    func same() {
        let error = Failed(
            message: "Save failed.", cause: Failed(message: "Save failed.", cause: Failed(message: "Disk full")))
        #expect(IssueReport(error).causes.map(\.message) == ["Disk full"])
    }

    @Test("Reading an error that is its own cause terminates")
    func mirrored() {
        #expect(IssueReport(Mirrored()).causes.isEmpty)
    }

    @Test("A report has at most 16 causes, and the number of errors that are read is limited, too")
    func bounds() {
        let deep = (0..<100).reduce(Caught.end) { error, _ in .caught(error) }
        // Errors are read to a depth of 8.
        #expect(IssueReport(deep).causes.count == 8)
        #expect(IssueReport(Tree()).causes.count == 16)
        #expect(IssueReport(Alike()).causes.isEmpty)
        #expect(Alike.count.withLock { $0 } < 1000)
    }
}

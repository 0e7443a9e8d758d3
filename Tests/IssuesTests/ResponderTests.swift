import Issues
import Synchronization
import Testing

private enum Shop: Error, Equatable {
    case first, second, third, fourth, fifth, sixth
}

private struct Second: Error {}

/// The notes of responders, in order.
private final class ResponderLog: Sendable {
    private let kept = Mutex<[String]>([])
    var texts: [String] { kept.withLock { $0 } }

    func add(_ text: String) {
        kept.withLock { $0.append(text) }
    }
}

@Suite("Responders")
struct ResponderTests {
    @Test("Each of the four forms of a receive responder decides whether an error is handled")
    func receive() {
        let collector = Collector()
        let notes = ResponderLog()
        withIssueReporters([collector]) {
            withErrorResponders(
                .receive {
                    notes.add("all")
                    return .notHandled
                },
                .receive { error in
                    notes.add("\(error)")
                    return .notHandled
                },
                .receive(Second.self) {
                    notes.add("second")
                    return .handled
                },
                .receive(Shop.self) { error in error == .third ? .handled : .notHandled }
            ) {
                reportIssue(Second())
                reportIssue(Shop.third)
                reportIssue(Shop.first)
            }
        }
        #expect(notes.texts == ["all", "Second()", "second", "all", "third", "all", "first"])
        #expect(collector.messages == ["Shop.first"])
    }

    @Test("The line of a log responder contains the caller's text and the message of a reportable error")
    func ownMessage() {
        struct Refused: ReportableError {
            var message: String { "The bank said no" }
        }
        struct Plain: ReportableError {}
        let notes = ResponderLog()
        withErrorResponders(
            .log { notes.add($0.split(separator: " ").dropFirst(2).joined(separator: " ")) }, .discard
        ) {
            reportIssue(Refused(), "Paying")
            reportIssue(Plain())
        }
        #expect(notes.texts == ["Paying: The bank said no", "Plain()"])
    }

    @Test("withErrorResponders needs no await for a synchronous operation, with any number of responders")
    func synchronousInAsynchronous() async {
        let collector = Collector()
        let notes = ResponderLog()
        withIssueReporters([collector]) {
            withErrorResponders(
                .transform(Second.self) { _ in Shop.first },
                .handle(Shop.self) { notes.add("\($0)") }
            ) {
                reportIssue(Second())
            }
        }
        withErrorResponders(.discard, .discard, .discard) { reportIssue(Second()) }
        withErrorResponders([.handle(Second.self) { notes.add("second") }, .discard]) { reportIssue(Second()) }
        await withErrorResponders([.handle(Second.self) { notes.add("later") }]) {
            await Task.yield()
            reportIssue(Second())
        }
        #expect(notes.texts == ["first", "second", "later"])
        #expect(collector.messages == [])
    }

    @Test("Each of the four forms of a handle responder stops the propagation of an error")
    func handle() {
        let collector = Collector()
        let notes = ResponderLog()
        withIssueReporters([collector]) {
            withErrorResponders(
                .handle(Second.self) { notes.add("second") },
                .handle(Shop.self) { error in notes.add("shop \(error)") }
            ) {
                reportIssue(Second())
                reportIssue(Shop.first)
                reportIssue(CancellationError())
            }
            withErrorResponders(.handle { error in notes.add("any \(error)") }) { reportIssue(Second()) }
            withErrorResponders(.handle { notes.add("any") }) { reportIssue(Second()) }
        }
        #expect(notes.texts == ["second", "shop first", "any Second()", "any"])
        #expect(collector.messages == ["CancellationError()"])
    }

    @Test("A transform responder replaces the error and keeps the old one as a cause")
    func transform() throws {
        let collector = Collector()
        withIssueReporters([collector]) {
            withErrorResponders(
                .transform(Shop.self) { error in error == .first ? Shop.second : error },
                .transform(Second.self) { Shop.third },
                .transform { error in error is CancellationError ? Shop.fourth : error }
            ) {
                reportIssue(Shop.first, "Paying", level: .critical, metadata: ["a": 1])
                reportIssue(Second())
                reportIssue(CancellationError())
            }
            withErrorResponders(.transform { Shop.sixth }) { reportIssue("words") }
        }
        #expect(collector.reports.map { $0.error as? Shop } == [.second, .third, .fourth, .sixth])
        #expect(collector.messages == ["Paying: Shop.second", "Shop.third", "Shop.fourth", "Shop.sixth"])
        let first = try #require(collector.reports.first)
        #expect(first.level == .critical)
        #expect(first.metadata == ["a": 1])
        #expect(first.causes.map(\.message) == ["Shop.first"])
        #expect(collector.reports.last?.causes.map(\.message) == ["words"])
    }

    @Test("A cancellation that is transformed into another error may be forwarded")
    func cancellation() {
        let collector = Collector()
        withIssueReporters([collector]) {
            withErrorResponders(.transform { Shop.first }) { reportIssue(CancellationError()) }
        }
        #expect(collector.reports.map(\.isReportable) == [true])
    }

    @Test("An error passes nested receive, transform and handle responders in order, as in the library ErrorHierarchy")
    func hierarchy() {
        let notes = ResponderLog()
        func run(_ error: any Error) {
            withErrorResponders(
                .receive { _ in .notHandled },
                .receive(SixthError.self) { .handled },
                .transform(FirstError.self) { SecondError() },
                .receive(SecondError.self) { .notHandled },
                .handle(SecondError.self) { notes.add("Test 1") }
            ) {
                reportIssue(error)
            }
        }
        withIssueReporters([]) {
            withErrorResponders(.transform { FourthError() }, .handle(FourthError.self) { notes.add("Test 2") }) {
                for error in [FirstError(), SecondError(), ThirdError(), SixthError()] as [any Error] { run(error) }
            }
        }
        #expect(notes.texts == ["Test 1", "Test 1", "Test 2"])
    }

    @Test("Responders receive a message as an error, and the message is evaluated once")
    func message() {
        let collector = Collector()
        let notes = ResponderLog()
        let count = Atomic(0)
        func text() -> String {
            count.add(1, ordering: .relaxed)
            return "till is stuck"
        }
        withIssueReporters([collector, OldReporter()]) {
            withErrorResponders(
                .receive(IssueMessage.self) { message in
                    notes.add(message.message)
                    return .notHandled
                }
            ) {
                reportIssue(text(), severity: .warning)
            }
        }
        #expect(notes.texts == ["till is stuck"])
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(collector.reports.map(\.message) == ["till is stuck"])
        #expect(collector.reports.allSatisfy { $0.error == nil && $0.level == .warning })
    }

    @Test("An issue that a responder reports goes only to the outer responders")
    func nested() {
        let notes = ResponderLog()
        withIssueReporters([]) {
            withErrorResponders(
                .handle { error in
                    notes.add("outer \(error)")
                    reportIssue("no responder is left")
                }
            ) {
                withErrorResponders(
                    .receive { error in
                        notes.add("inner \(error)")
                        reportIssue("a second one")
                        return .notHandled
                    }
                ) {
                    reportIssue("a first one")
                }
            }
        }
        #expect(notes.texts == ["inner a first one", "outer a second one", "outer a first one"])
    }

    @Test("An error that a responder throws replaces the error that it received")
    func throwing() {
        let collector = Collector()
        withIssueReporters([collector]) {
            withErrorResponders(.handle { throw Shop.fifth }) { reportIssue(Shop.first) }
        }
        #expect(collector.messages == ["Shop.fifth"])
        #expect(collector.reports.first?.causes.map(\.message) == ["Shop.first"])
    }

    @Test("Responders stay in effect after suspension points and in child tasks")
    func asynchronous() async {
        let notes = ResponderLog()
        await withErrorResponders(.handle { error in notes.add("\(error)") }) {
            await Task.yield()
            reportIssue(Shop.first)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { reportIssue(Shop.second) }
            }
        }
        #expect(notes.texts == ["first", "second"])
    }

    @MainActor
    @Test("A handler may be asynchronous; its errors go to the outer responders")
    func handlerInTask() async {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        withErrorResponders(.handle { error in continuation.yield("outer \(error)") }) {
            withErrorResponders(
                .handle(Shop.self) { error in
                    await Task.yield()
                    continuation.yield("inner \(error)")
                    throw Second()
                }
            ) {
                reportIssue(Shop.first)
            }
        }
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == "inner first")
        #expect(await iterator.next() == "outer Second()")
    }

    @Test("Captured responders can be used outside their scope, and keep its reporters and metadata")
    func carried() async {
        let collector = Collector()
        let notes = ResponderLog()
        let responders = withIssueReporters([collector]) {
            withIssueMetadata(["request": 7]) {
                withErrorResponders(
                    .receive(Shop.self) {
                        notes.add("seen"); return .notHandled
                    }
                ) {
                    ErrorResponders.current
                }
            }
        }
        await Task.detached {
            responders.report(Shop.first, "Working", metadata: ["a": 1])
            responders.report("words", level: .warning)
        }.value
        #expect(notes.texts == ["seen"])
        #expect(collector.messages == ["Working: Shop.first", "words"])
        #expect(collector.reports.first?.metadata == ["request": 7, "a": 1])
    }

    @Test("A log responder writes a line and does not handle the error")
    func log() {
        let collector = Collector()
        let notes = ResponderLog()
        withIssueReporters([collector]) {
            withErrorResponders(.log { line in notes.add(line) }) { reportIssue(Shop.first, "Paying") }
        }
        #expect(notes.texts == ["IssuesTests/ResponderTests.swift:\(#line - 2): error: Paying: Shop.first"])
        #expect(collector.messages == ["Paying: Shop.first"])
    }

    @Test("A discarded issue reaches neither outer responders nor reporters, and a discarded assertion does not trap")
    func discard() {
        let collector = Collector()
        let notes = ResponderLog()
        withIssueReporters([collector]) {
            withErrorResponders(.handle { notes.add("outer") }) {
                withErrorResponders(.discard) {
                    reportIssue(Shop.first)
                    Reported.assert(false, "no trap, not even in a debug build")
                }
            }
        }
        #expect(notes.texts.isEmpty)
        #expect(collector.messages.isEmpty)
    }
}

private struct FirstError: Error {}
private struct SecondError: Error {}
private struct ThirdError: Error {}
private struct FourthError: Error {}
private struct SixthError: Error {}

import IssueStore
import SQLiteKit
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Ending questions")
struct QuestionWatchTests {
    private static let endless: StaticString =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    /// Runs a question that never ends by itself until the watch ends it, and answers why it did.
    private func reason(
        slice: Duration = .seconds(600), mustYield: Bool = false, _ body: @escaping @Sendable (QuestionWatch) -> Void
    ) throws -> QuestionWatch.Reason? {
        let watch = QuestionWatch(slice: slice)
        let thread = try JoinableThread(name: "watch") { watch.run() }
        defer {
            watch.finish()
            thread.join()
        }
        let connection = try SQLiteKit.Connection(path: ":memory:")
        watch.begin(3, connection: 7, QueryInterruption(connection)) { _ in mustYield }
        let other = try JoinableThread(name: "other") { body(watch) }
        defer { other.join() }
        #expect(throws: SQLiteError.self) { try Statement(Self.endless, on: connection).run() }
        let reason = watch.end(3)
        // The next question on this connection is not ended by what ended this one.
        try connection.withStatement("SELECT 1") { try $0.run() }
        return reason
    }

    @Test("A question ends when its client is gone, and not when another's is")
    func gone() throws {
        let reason = try reason { watch in
            watch.cancel(connection: 8)
            watch.cancel(connection: 7)
        }
        #expect(reason == .clientGone)
    }

    @Test("A question ends when the daemon does, also one that begins after that")
    func stopping() throws {
        #expect(try reason { $0.stop() } == .stopping)
        let watch = QuestionWatch(slice: .seconds(1))
        watch.stop()
        let connection = try SQLiteKit.Connection(path: ":memory:")
        watch.begin(1, connection: 1, QueryInterruption(connection)) { _ in false }
        #expect(throws: SQLiteError.self) { try connection.withStatement("SELECT 1") { try $0.run() } }
        #expect(watch.end(1) == .stopping)
    }

    @Test("After its slice a question ends if another user must have a turn")
    func yields() throws {
        #expect(try reason(slice: .milliseconds(20), mustYield: true) { _ in } == .yielded)
    }

    @Test("A question that waits for the writer is not interrupted")
    func protected() throws {
        let watch = QuestionWatch(slice: .seconds(1))
        let connection = try SQLiteKit.Connection(path: ":memory:")
        watch.begin(1, connection: 1, QueryInterruption(connection)) { _ in false }
        #expect(watch.protect(1))
        watch.cancel(connection: 1)
        watch.stop()
        try connection.withStatement("SELECT 1") { try $0.run() }
        #expect(watch.end(1) == nil)
    }
}

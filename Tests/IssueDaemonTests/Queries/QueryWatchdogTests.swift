import IssueStore
import SQLiteKit
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Interrupting queries")
struct QueryWatchdogTests {
    private static let endless: StaticString =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    /// Runs an endless query until the watchdog ends it. Returns the reason.
    private func reason(
        slice: Duration = .seconds(600), mustYield: Bool = false, _ body: @escaping @Sendable (QueryWatchdog) -> Void
    ) throws -> QueryWatchdog.Reason? {
        let watch = QueryWatchdog(slice: slice)
        let thread = try JoinableThread(name: "watch") { watch.run() }
        defer {
            watch.finish()
            thread.join()
        }
        let connection = try DatabaseConnection(path: ":memory:")
        watch.begin(3, connection: 7, QueryInterruption(connection)) { _ in mustYield }
        let other = try JoinableThread(name: "other") { body(watch) }
        defer { other.join() }
        #expect(throws: SQLiteError.self) { try Statement(Self.endless, on: connection).run() }
        let reason = watch.end(3)
        // The next query on this connection is not interrupted.
        try connection.run("SELECT 1")
        return reason
    }

    @Test("A query ends when its own client disconnects")
    func gone() throws {
        let reason = try reason { watch in
            watch.cancel(connection: 8)
            watch.cancel(connection: 7)
        }
        #expect(reason == .clientGone)
    }

    @Test("A stop ends running queries and those that begin later")
    func stopping() throws {
        #expect(try reason { $0.stop() } == .stopping)
        let watch = QueryWatchdog(slice: .seconds(1))
        watch.stop()
        let connection = try DatabaseConnection(path: ":memory:")
        watch.begin(1, connection: 1, QueryInterruption(connection)) { _ in false }
        #expect(throws: SQLiteError.self) { try connection.run("SELECT 1") }
        #expect(watch.end(1) == .stopping)
    }

    @Test("After its slice, a query ends if another user is to have a turn")
    func yields() throws {
        #expect(try reason(slice: .milliseconds(20), mustYield: true) { _ in } == .yielded)
    }

    @Test("A query that waits for the writer is not interrupted")
    func protected() throws {
        let watch = QueryWatchdog(slice: .seconds(1))
        let connection = try DatabaseConnection(path: ":memory:")
        watch.begin(1, connection: 1, QueryInterruption(connection)) { _ in false }
        #expect(watch.protect(1))
        watch.cancel(connection: 1)
        watch.stop()
        try connection.run("SELECT 1")
        #expect(watch.end(1) == nil)
    }
}

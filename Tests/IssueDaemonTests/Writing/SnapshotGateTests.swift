import IssueStore
import SQLiteKit
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The snapshot gate")
struct SnapshotGateTests {
    private func connection() throws -> DatabaseConnection { try DatabaseConnection(path: ":memory:") }

    @Test("A closed gate blocks new snapshots until it is opened, and reports when the last existing one has ended")
    func closed() throws {
        let emptied = Atomic(0)
        let gate = SnapshotGate(emptied: { emptied.add(1, ordering: .relaxed) })
        let (first, second) = (try connection(), try connection())
        let control = gate.control(.query)
        let one = try control.begin(QueryInterruption(first))
        let two = try control.begin(QueryInterruption(second))
        #expect(!gate.close(interrupting: false))
        #expect(!control.isInterrupted(one))
        #expect(!control.end(one))
        #expect(emptied.load(ordering: .relaxed) == 0)
        #expect(!control.end(two))
        #expect(emptied.load(ordering: .relaxed) == 1)
        #expect(throws: StoreFailure.walTooLarge) { try control.begin(QueryInterruption(first)) }
        gate.open()
        #expect(!control.end(try control.begin(QueryInterruption(first))))
    }

    @Test("An interrupted snapshot's statements fail until it has ended, and those of the next one do not")
    func interrupted() throws {
        let gate = SnapshotGate()
        let connection = try connection()
        let control = gate.control(.query)
        let ticket = try control.begin(QueryInterruption(connection))
        #expect(!gate.close(interrupting: true))
        #expect(control.isInterrupted(ticket))
        #expect(throws: SQLiteError.self) { try connection.run("SELECT 1") }
        #expect(control.end(ticket))
        try connection.run("SELECT 1")
        #expect(gate.waitUntilEmpty(timeout: .zero))
    }

    @Test("If a closing gate interrupts snapshots, forwarding continues, and a backup ends at its next step")
    func kinds() throws {
        let gate = SnapshotGate()
        let connection = try connection()
        let forwarding = try gate.control(.background).begin(QueryInterruption(connection))
        #expect(!gate.hasLongSnapshots)
        let backup = try gate.control(.backup).begin(QueryInterruption(connection))
        #expect(gate.isBackingUp && gate.hasLongSnapshots)
        _ = gate.close(interrupting: true)
        try connection.run("SELECT 1")
        #expect(!gate.control(.background).end(forwarding))
        #expect(gate.control(.backup).isInterrupted(backup))
        #expect(gate.control(.backup).end(backup))
        #expect(!gate.isBackingUp && !gate.hasLongSnapshots)
    }

    @Test("After the end of the gate, a reader gets an error instead of a snapshot")
    func end() throws {
        let gate = SnapshotGate()
        let connection = try connection()
        _ = gate.close(interrupting: false)
        gate.end(timeout: .zero)
        #expect(throws: StoreFailure.walTooLarge) { try gate.control(.job).begin(QueryInterruption(connection)) }
    }
}

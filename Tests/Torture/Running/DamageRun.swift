import Foundation
import IssueProtocol
import IssueTestSupport
import TestSockets
import UnixIO

/// Corrupts the files of the store, and checks that the daemon nevertheless starts and stores reports.
package enum DamageRun {
    /// Runs the kinds of damage whose names contain `only`, each on a new store.
    package static func run(only: String = "") async throws -> TortureTable {
        func isWanted(_ name: String) -> Bool { only.isEmpty || name.contains(only) }
        var table = TortureTable()
        for damage in Damage.all where isWanted("Damage: \(damage.name)") {
            try await DaemonFixture.with { daemon in
                do {
                    table.add(try runDamage(damage, daemon), to: "Damage: \(damage.name)")
                } catch {
                    daemon.folder.keep()
                    throw TortureRun.GuaranteeViolation(
                        description: "Damage: \(damage.name): \(error) (\(daemon.folder.path))")
                }
            }
        }
        let folder = "Damage: folder that may not be read"
        guard isWanted(folder) else { return table }
        try await DaemonFixture.with { daemon in table.add(try runUnreadableFolder(daemon), to: folder) }
        return table
    }

    private static func runDamage(_ damage: Damage, _ daemon: DaemonFixture) throws -> TortureTable.Row {
        var row = TortureTable.Row()
        for call in 1...5 { try report(call, daemon, &row) }
        try daemon.terminate()
        // If another process has read the database, the WAL may still exist, and it would repair the damage.
        try DatabaseFile(daemon.database, writable: true).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try damage.spoil(daemon)
        let before = daemon.log.count
        try daemon.start()
        for call in 6...10 { try report(call, daemon, &row) }
        let log = String(daemon.log.dropFirst(before))
        let isSetAside = log.contains("moving it aside")
        guard isSetAside == damage.isSetAside ?? isSetAside else {
            throw TortureRun.GuaranteeViolation(description: "The file was\(isSetAside ? "" : " not") set aside.")
        }
        row.lines = TortureRun.troubles(in: log)
        row.times = 1
        row.reached = 1
        return row
    }

    /// Starts the daemon while it can't read its state directory. Root can read everything, so if this process is root,
    /// the daemon runs as another user.
    private static func runUnreadableFolder(_ daemon: DaemonFixture) throws -> TortureTable.Row {
        var row = TortureTable.Row()
        try report(1, daemon, &row)
        try daemon.terminate()
        let state = daemon.folder["state"]
        let isRoot = CurrentProcess.userID == 0
        let uid: UInt32 = 12_347
        if isRoot {
            for path in [
                daemon.folder.path, daemon.folder["notify"], daemon.tokenFile, daemon.configurationFile, state,
                daemon.database,
            ] {
                try FileSystem.setOwner(uid, group: uid, of: path)
            }
        }
        try FileSystem.setMode(0, of: state)
        let before = daemon.log.count
        try daemon.launch(through: isRoot ? try OtherUser.launcher(uid) : [])
        try daemon.waits(for: "READY=1")
        let records = [IssueRecord(message: "Early")]
        guard case .busy = try RawClient(path: daemon.socket).refusal(of: .report, ReportParameters(records: records))
        else { throw TortureRun.GuaranteeViolation(description: "A report did not get the error Busy.") }
        try FileSystem.setMode(0o700, of: state)
        try report(2, daemon, &row)
        row.lines = TortureRun.troubles(in: String(daemon.log.dropFirst(before)))
        row.times = 1
        row.reached = 1
        return row
    }

    /// Reports some records, retrying as needed, and reads the first and the last ten of them back.
    private static func report(_ call: Int, _ daemon: DaemonFixture, _ row: inout TortureTable.Row) throws {
        let producer = "019aa3c5-0000-7000-8000-00000000abcd"
        let records = (1...200).map { number in
            IssueRecord(
                message: "Call \(call) record \(number) says something", domain: "domain.\(number % 50)",
                app: Application(name: "shop"), metadata: ["text": .string(String(repeating: "x", count: 150))])
        }
        let deadline = MonotonicClock.now.advanced(by: .seconds(30))
        row.sent += records.count
        while true {
            do {
                let client = try RawClient(path: daemon.socket)
                let receipts = try client.report(records, producer: producer, sequence: Int64(call * 1000))
                row.acknowledged += receipts.count
                for receipt in receipts.prefix(10) + receipts.suffix(10) {
                    let id = try receipt.storedID
                    guard try client.show(id).record?.id == id else { throw RawClient.NoReply.quiet }
                }
                row.found += receipts.count
                return
            } catch {
                guard MonotonicClock.now < deadline else { throw error }
                row.resent += records.count
                pause(.milliseconds(20))
            }
        }
    }
}

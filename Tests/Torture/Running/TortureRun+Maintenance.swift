import Foundation
import IssueProtocol
import IssueTestSupport
import UnixIO

/// Maintenance of the store. The oracle remembers all ids of receipts and checks that none is assigned twice.
extension TortureRun {
    /// Replaces the store with a backup. Everything reported after the backup is gone.
    package func goBackToBackup() throws {
        try round("Back to a backup") {
            load(for: 50...200)
            try settleAndInspect()
            try checkForwarding()
            let delivered = try RawClient(path: daemon.socket).destination().ledger.delivered
            let reply: BackupReply = try RawClient(path: daemon.socket).call(.backup, JSONValue.object([]))
            guard let copy = reply.path else { throw GuaranteeViolation(description: "The backup has no path.") }
            let then = Inspection(as: inspection)
            pool.report()
            load(for: 100...300)
            try settleAndInspect()
            if Bool.random(using: &generator) { try daemon.kill() } else { try daemon.terminate() }
            for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: daemon.database + ending) }
            try FileManager.default.moveItem(atPath: copy, toPath: daemon.database)
            try returnTo(then, delivered: delivered)
            try daemon.start()
            pool.report()
            load(for: 50...200)
            return true
        }
    }

    /// Erases the newest records. In half of the cases, the daemon is killed during a first purge. After the purge, it
    /// is killed or stopped.
    package func purgeNewest() throws {
        try round("The newest purged") {
            load(for: 50...200)
            try settleAndInspect()
            try visit()
            try inspection.inspect()
            if Bool.random(using: &generator) {
                let client = try RawClient(path: daemon.socket)
                try client.begin(.purge, PurgeParameters(filter: Self.visitors))
                pause(.microseconds(Int.random(in: 0...20_000, using: &generator)))
                try daemon.kill()
                try daemon.start()
            }
            let _: PurgeReply = try RawClient(path: daemon.socket).call(
                .purge, PurgeParameters(filter: Self.visitors))
            inspection.erased(app: Self.visitor)
            try inspection.inspect()
            if Bool.random(using: &generator) { try daemon.kill() } else { try daemon.terminate() }
            try daemon.start()
            try inspection.inspect()
            pool.report()
            load(for: 50...200)
            return true
        }
    }

    /// Moves a store aside and imports it into the new one. The daemon is killed several times in the meantime.
    package func repair() throws {
        let original = daemon.configuration
        try round("Set aside, and repaired") {
            load(for: 50...200)
            try settleAndInspect()
            try daemon.terminate()
            let old = try daemon.file.rows("SELECT count(*) FROM records", columns: 1)
            try DatabaseFile(daemon.database, writable: true).execute("PRAGMA user_version = 9999")
            try forgetStore()
            // No record may be removed before the oracle has read it.
            var large = original
            large.text.replace(/MaxSize=\w+/, with: "MaxSize=1G")
            try daemon.configure(large)
            try daemon.start()
            pool.report()
            load(for: 50...200)
            for _ in 1...3 {
                try RawClient(path: daemon.socket).begin(.repair, RepairParameters())
                load(for: 0...300)
                try daemon.kill()
                try daemon.start()
            }
            let client = try RawClient(path: daemon.socket)
            try client.begin(.repair, RepairParameters())
            let reply: RepairReply = try client.answer()
            guard reply.unreadable == 0 else {
                throw GuaranteeViolation(description: "The old store could not be read: \(reply)")
            }
            try settleAndInspect()
            let new = try daemon.file.rows(
                #"SELECT count(*) FROM records WHERE details ->> '$.recovered.id' IS NOT NULL"#, columns: 1)
            guard new == old else {
                throw GuaranteeViolation(description: "\(old) records were set aside, \(new) imported.")
            }
            try daemon.terminate()
            try daemon.configure(original)
            try daemon.start()
            for name in try FileManager.default.contentsOfDirectory(atPath: daemon.folder["state"])
            where name.contains(".repaired-") {
                try FileManager.default.removeItem(atPath: daemon.folder["state/\(name)"])
            }
            return true
        }
    }

    private func settleAndInspect() throws {
        try pool.settle()
        try inspection.inspect()
    }

    // MARK: Visitors

    static let visitor = "visitor"
    private static var visitors: IssueFilter {
        var filter = IssueFilter()
        filter.apps = [visitor]
        return filter
    }

    /// Reports up to 800 records while the other reporters are idle.
    private func visit() throws {
        let payload = Payload(seed: generator.next(), app: Self.visitor, ballast: 0)
        let reporter = oracle.add(ReporterMemory(payload: payload, uid: CurrentProcess.userID))
        let client = try RawClient(path: daemon.socket)
        for _ in 1...Int.random(in: 1...4, using: &generator) {
            let (call, first) = oracle.began(reporter, count: Int.random(in: 1...200, using: &generator)) { _ in false }
            let records = (first..<oracle.end(of: reporter)).map { payload.record(reporter: reporter, number: $0) }
            oracle.answered(reporter, call, try client.report(records), isFirstSending: true)
        }
    }
}

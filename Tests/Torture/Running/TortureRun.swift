package import FakeLogz
import Foundation
import IssueProtocol
package import IssueTestSupport
import UnixIO

/// A daemon under load that suffers one fault after the other, and an oracle that examines its store after each.
package final class TortureRun {
    /// The daemon broke a promise.
    package struct GuaranteeViolation: Error, CustomStringConvertible {
        package let description: String
    }

    package let daemon: DaemonFixture
    package let listener: FakeLogz
    package let control: FaultControl
    package let oracle = Oracle()
    package private(set) var table = TortureTable()
    package var generator: SeededGenerator
    let pool: ReporterPool
    var inspection: Inspection
    private static let inspectionInterval = Duration.milliseconds(250)
    /// The number of rows found in stores that have since been replaced.
    private var foundBefore = 0
    /// The number of delivered records in the ledger when the destination was last reset.
    private var deliveredBefore: Int64 = 0

    /// Starts a daemon with the fault library, and reporters that wait.
    package init(
        _ daemon: DaemonFixture, _ listener: FakeLogz, control: FaultControl, seed: UInt64,
        styles: [ReporterStyle] = ReporterStyle.standard(withOtherUsers: false)
    ) throws {
        self.daemon = daemon
        self.listener = listener
        self.control = control
        generator = SeededGenerator(seed)
        pool = ReporterPool(oracle, socket: daemon.socket, folder: daemon.folder)
        inspection = Inspection(daemon.database, oracle)
        try daemon.start()
        try pool.start(styles, seed: seed)
    }

    /// Returns the daemon's configuration. With it, the daemon keeps few records and forwards many, so all its parts
    /// are busy.
    package static func configuration(
        _ listener: FakeLogz, control: FaultControl, library: String, maxSize: String = "56M"
    ) -> DaemonConfiguration {
        var configuration = DaemonConfiguration(
            """
            [Store]
            MaxSize=\(maxSize)
            KeepFree=0
            [Limits]
            GroupBurst=20
            GroupRefill=60/min
            ApplicationRefill=0
            GlobalRefill=0
            NewGroupsPerApplication=0
            NewSeriesPerApplication=0
            SummaryInterval=1s
            SummaryIntervalMax=4s
            [Forward]
            BatchDelay=20ms
            CriticalDelay=10ms
            SendRate=0
            [LogzIO]
            URL=http://127.0.0.1:\(listener.port)
            Credential=TOKENFILE
            ConnectTimeout=2s
            RequestTimeout=2s
            """)
        configuration.environment = ["LD_PRELOAD": library, "ISSUED_FAULTS": control.path]
        return configuration
    }

    package func end() {
        pool.end()
    }

    // MARK: Rounds

    /// Runs `body` while the reporters report, lets them settle, and compares the store with the oracle.
    ///
    /// - Parameters:
    ///   - fault: The name of the fault.
    ///   - fillingRanges: `true` to report records that fill ranges quickly.
    ///   - removesByAge: `true` if `body` lowers the maximum age, so that records become too old.
    ///   - body: Causes the fault. Returns whether it happened, and leaves a running daemon.
    /// - Throws: `GuaranteeViolation`, also for a contradiction and for an error of `body`.
    package func round(
        _ fault: String, fillingRanges: Bool = false, removesByAge: Bool = false, _ body: () throws -> Bool
    ) throws {
        let before = (oracle.sums, foundBefore + inspection.found, try logSize())
        try troubleListener()
        pool.report(fillingRanges: fillingRanges)
        do {
            let cameToPass = try body()
            guard daemon.process?.isRunning == true else {
                throw GuaranteeViolation(description: "The daemon is no longer running.")
            }
            try pool.settle()
            try inspection.inspect()
            let lines = try log(from: before.2).split(separator: "\n")
            if !removesByAge, let line = lines.first(where: { $0.contains("reason=age") }) {
                throw GuaranteeViolation(description: "No record is old enough for this: \(line)")
            }
            var row = TortureTable.Row()
            row.times = 1
            row.reached = cameToPass ? 1 : 0
            row.sent = oracle.sums.sent - before.0.sent
            row.acknowledged = oracle.sums.acknowledged - before.0.acknowledged
            row.resent = oracle.sums.resent - before.0.resent
            row.found = foundBefore + inspection.found - before.1
            row.lines = Self.troubles(in: try log(from: before.2))
            table.add(row, to: fault)
        } catch {
            throw GuaranteeViolation(description: "After “\(fault)”: \(error)")
        }
    }

    /// Returns the messages of warnings and errors in a log.
    static func troubles(in log: String) -> Set<String> {
        Set(
            log.split(separator: "\n").compactMap { line in
                guard let colon = line.range(of: "warning: ") ?? line.range(of: "error: ") else { return nil }
                let words = line[colon.upperBound...].split(separator: " ").prefix { !$0.contains("=") }
                return words.joined(separator: " ")
            })
    }

    private func logSize() throws -> UInt64 {
        try FileHandle(forReadingFrom: URL(filePath: daemon.folder["issued.err"])).seekToEnd()
    }

    /// Returns what the daemon has logged after this offset.
    private func log(from offset: UInt64) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(filePath: daemon.folder["issued.err"]))
        try file.seek(toOffset: offset)
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }

    /// Lets a random time pass under load.
    ///
    /// - Parameter time: The range of the time, in milliseconds.
    func load(for time: ClosedRange<Int>) {
        pool.pause(.milliseconds(Int.random(in: time, using: &generator)))
    }

    /// Waits until the daemon has ended on its own. Returns `false` if it still runs after `time`.
    ///
    /// - Parameter inspects: `true` to examine its store in the meantime, before retention removes records that were
    ///   not read.
    func waitsForEnd(within time: Duration, inspects: Bool) throws -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        var nextInspection = MonotonicClock.now.advanced(by: Self.inspectionInterval)
        while daemon.process?.isRunning == true {
            guard MonotonicClock.now < deadline else { return false }
            pool.pause(.milliseconds(2))
            guard inspects, MonotonicClock.now >= nextInspection else { continue }
            try inspection.inspect(isQuiet: false)
            nextInspection = MonotonicClock.now.advanced(by: Self.inspectionInterval)
        }
        return true
    }

    /// Starts over with a new store. The daemon must not run.
    func forgetStore() throws {
        try listener.reset()
        deliveredBefore = 0
        foundBefore += inspection.found
        oracle.forgetStore()
        inspection = Inspection(daemon.database, oracle)
    }

    /// Returns to an earlier state of the store. The daemon must not run, and all calls must have ended.
    func returnTo(_ then: Inspection, delivered: Int64) throws {
        try listener.reset()
        deliveredBefore = delivered
        foundBefore += inspection.found - then.found
        inspection = then
    }

    func note(failed kind: String) {
        table.add(failed: kind)
    }

    // MARK: Forwarding

    /// Makes the destination fail at times.
    private func troubleListener() throws {
        let steps: [FaultStep]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: steps = [FaultStep(.status(503), times: 2)]
        case 1: steps = [FaultStep(.resetBeforeAnswer)]
        case 2: steps = [FaultStep(.resetMidBody(after: 2000))]
        case 3: steps = [FaultStep(.truncatedAnswer), FaultStep(.garbage)]
        case 4: steps = [FaultStep(.slowAnswer(.milliseconds(200)), times: 3)]
        default: steps = []
        }
        try listener.plan(steps)
    }

    /// Lets the forwarder finish, and compares the received records with the ledger.
    package func checkForwarding() throws {
        try listener.plan([])
        let client = try RawClient(path: daemon.socket)
        let deadline = MonotonicClock.now.advanced(by: .seconds(120))
        while try client.destination().ledger.pending > 0 {
            guard MonotonicClock.now < deadline else {
                throw GuaranteeViolation(
                    description: "The destination works, but records are pending: \(try client.destination())")
            }
            try client.begin(.flush, FlushParameters(timeout: .seconds(5)))
            _ = try client.reply()
        }
        let ledger = try client.destination().ledger
        // Purged records are no longer in the ledger.
        let records = listener.accepted.filter {
            $0["event_kind"]?.asString == "issue" && $0["app"]?.asString != Self.visitor
        }
        let rows = Set(records.compactMap { $0.eventID.flatMap { Oracle.row(of: $0) } })
        guard ledger.balances else { throw GuaranteeViolation(description: "The ledger does not balance: \(ledger)") }
        let difference = Int64(rows.count) - (ledger.delivered - deliveredBefore)
        guard difference >= 0, difference <= ledger.expired else {
            throw GuaranteeViolation(
                description: "\(rows.count) records have arrived, and the ledger says delivered: \(ledger.delivered)")
        }
        if let newest = rows.max(), newest > inspection.lastRow {
            throw GuaranteeViolation(description: "The record \(newest) has arrived, which is not in the store.")
        }
    }
}

import FakeLogz
import Foundation
import IssueTestSupport
import UnixIO

/// The torture test as a program.
package struct TortureCommand {
    private let arguments: [String]

    package init(arguments: [String]) {
        self.arguments = arguments
    }

    /// Runs the test and ends the process.
    package func main() async -> Never {
        let parsed: TortureArguments
        do {
            parsed = try TortureArguments(arguments)
        } catch {
            refuse(error)
        }
        if parsed.wantsHelp {
            write(TortureArguments.help)
            CurrentProcess.exit(0)
        }
        do {
            // If the daemon has ended, a client that writes to its socket must get an error, not end this process.
            try Signal.pipe.ignore()
            if try await run(parsed) { CurrentProcess.exit(0) }
        } catch let error as TortureArguments.UsageError {
            refuse(error)
        } catch {
            write("\(error)")
        }
        write("To repeat: \(parsed.repetition)")
        CurrentProcess.exit(1)
    }

    private func refuse(_ error: TortureArguments.UsageError) -> Never {
        write("torture-issued: \(error) (see --help)")
        CurrentProcess.exit(64)
    }

    private func run(_ parsed: TortureArguments) async throws -> Bool {
        write("Seed \(parsed.seed), \(parsed.minutes) minutes.")
        let tools = try ScratchFolder(named: "issued-torture")
        let library = try FaultLibrary.build(in: tools)
        let disk = try FaultLibrary.buildDisk(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let styles =
            parsed.usesLibrary
            ? ReporterStyle.programs : ReporterStyle.standard(withOtherUsers: OtherUser.obstacle == nil)
        var table = TortureTable()
        if parsed.usesLibrary {
            write("Reporters are programs that link the client library.")
        } else {
            table.add(try await DamageRun.run(only: parsed.faults))
        }
        if let obstacle = DaemonFixture.smallDiskObstacle {
            write("Disk full is skipped: \(obstacle).")
        } else if parsed.faults.isEmpty || "Disk full, and a restart".contains(parsed.faults) {
            table.add(
                try await DiskFullRun.run(
                    listener, control: control, library: library, seed: parsed.seed,
                    times: min(30, 3 + parsed.minutes), styles: styles))
            try listener.reset()
        }
        let others = table
        let configuration = TortureRun.configuration(listener, control: control, library: library)
        let isSound: Bool? = try await DaemonFixture.with(configuration, starts: false) { daemon in
            if parsed.keeps { daemon.folder.keep() }
            let tortureRun = try TortureRun(
                daemon, listener, control: control, seed: parsed.seed, styles: styles)
            defer { tortureRun.end() }
            let plan = TorturePlan(
                points: try tortureRun.control.points, only: parsed.faults, disk: disk, sweeps: parsed.sweeps)
            if !plan.hasSteps, others.rows.isEmpty { return nil }
            do {
                try campaign(tortureRun, plan, parsed)
            } catch {
                daemon.folder.keep()
                write("\n\(tortureRun.table.text)\n")
                write("Kept the folder: \(daemon.folder.path)")
                throw error
            }
            var table = tortureRun.table
            table.add(others)
            write("\n\(table.text)\n")
            for name in table.unreached { write("Not reached: \(name)") }
            write("\(table.kills) kills, no contradictions.")
            return table.unreached.isEmpty
        }
        guard let isSound else {
            throw TortureArguments.UsageError(description: "no fault of this run has '\(parsed.faults)' in its name")
        }
        return isSound
    }

    private func campaign(_ tortureRun: TortureRun, _ plan: TorturePlan, _ parsed: TortureArguments) throws {
        let end = MonotonicClock.now.advanced(by: .seconds(60 * parsed.minutes))
        var plan = plan
        repeat {
            let start = MonotonicClock.now
            var done = 0
            let steps = plan.cycle(using: &tortureRun.generator)
            // Some faults belong to no cycle, or only to the first one.
            if steps.isEmpty { break }
            for step in steps {
                try step(tortureRun)
                done += 1
                if done % 20 == 0 {
                    write(
                        "  \(done) faults of cycle \(plan.cycles), \(tortureRun.table.kills) kills, \(tortureRun.oracle.sums.sent) records"
                    )
                }
            }
            try tortureRun.checkForwarding()
            write("Cycle \(plan.cycles): \(done) faults in \(MonotonicClock.now.duration(to: start) * -1)")
        } while MonotonicClock.now < end || tortureRun.table.kills < parsed.kills
    }

    private func write(_ text: String) {
        try? StandardStream.output.writeAll(Array("\(text)\n".utf8))
    }
}

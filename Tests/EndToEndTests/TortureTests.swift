import FakeLogz
import IssueTestSupport
import Testing
import UnixIO

@testable import Torture

/// The short form of the torture test; `scripts/torture` runs the long one.
@Suite("Fault injection in the daemon", .daemonLog)
struct TortureTests {
    /// Starts a run with a fixed seed for `body`, which injects the faults. Then compares the forwarded records with
    /// the ledger, unless `checksDestination` is false.
    private func besiege(
        maxSize: String = "56M", checksDestination: Bool = true, _ body: (TortureRun) throws -> Void
    ) async throws {
        let tools = try ScratchFolder(named: "issued-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = TortureRun.configuration(listener, control: control, library: library, maxSize: maxSize)
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            let tortureRun = try TortureRun(daemon, listener, control: control, seed: 1)
            defer { tortureRun.end() }
            try body(tortureRun)
            if checksDestination { try tortureRun.checkForwarding() }
        }
    }

    @Test("The command to repeat a run has all options that decide which faults happen and who reports")
    func repetition() throws {
        let options = ["--minutes", "2", "--seed", "7", "--faults", "Power cut", "--library", "--sample"]
        #expect(
            try TortureArguments(options).repetition
                == "scripts/torture 2 --seed 7 --faults 'Power cut' --library --sample")
    }

    @Test("A plan has faults only if --faults is a part of their names")
    func names() {
        func hasSteps(_ only: String) -> Bool {
            TorturePlan(points: ["forget: postings"], only: only, disk: "", sweeps: true).hasSteps
        }
        #expect(hasSteps("") && hasSteps("Power") && hasSteps("forget") && hasSteps("each call"))
        #expect(!hasSteps("power cut") && !hasSteps("Damage"))
    }

    @Test(
        "Kills around commits, migrations and cursor updates cause neither loss nor duplicates"
    )
    func namedPoints() async throws {
        try await besiege { tortureRun in
            let points = try tortureRun.control.points.map { name in
                (name, point: name.split(separator: " ", maxSplits: 1).last.map(String.init) ?? "")
            }
            let wanted: Set = [
                "commit: records", "commit", "cursor: commit", "settle: commit", "migration: commit", "log: sync",
                "receipt", "forget: postings",
            ]
            #expect(wanted.subtracting(points.map { $0.point }) == [])
            for (index, (name, point)) in points.enumerated() where wanted.contains(point) {
                // Retention runs at random times, so its points are not reached in every attempt.
                for _ in 1...3 {
                    try tortureRun.kill(at: index + 1, name)
                    if !tortureRun.table.unreached.contains("SIGKILL \(name)") { break }
                }
            }
            #expect(tortureRun.table.unreached == [])
        }
    }

    @Test("Kills, suspensions, restarts and reloads at any time cause neither loss nor duplicates")
    func anyMoment() async throws {
        try await besiege { tortureRun in
            for _ in 1...6 { try tortureRun.killAtRandom() }
            try tortureRun.stopAndContinue()
            try tortureRun.reload()
            try tortureRun.restart()
        }
    }

    @Test("The daemon keeps running, and can start, despite failing file system calls")
    func failingCalls() async throws {
        try await besiege { tortureRun in
            for number in [1, 3, 10] {
                try tortureRun.failCall(number, count: 5, with: .inputOutput, "EIO")
                try tortureRun.failCall(number, count: 5, with: .deviceFull, "ENOSPC")
            }
            for number in [1, 4, 9] { _ = try tortureRun.failCallAtStart(number, count: 2, with: .inputOutput, "EIO") }
            #expect(tortureRun.table.unreached == [])
        }
    }

    @Test("A sound database is not moved aside because of repeated errors of calls on its files")
    func pagesNotGiven() async throws {
        try await besiege { tortureRun in
            func lines(_ text: String) -> Int {
                tortureRun.daemon.log.split(separator: "\n").count { $0.contains(text) }
            }
            // If the daemon continued with a new store, the oracle would find a contradiction, too.
            for number in 1...30 where lines("reopening it") < 3 {
                try tortureRun.failCall(number, count: 8, with: .inputOutput, "EIO")
            }
            #expect(lines("reopening it") >= 3)
            #expect(lines("moving it aside") == 0)
        }
    }

    @Test("A disk that fails completely for a while does not cause the database to be moved aside")
    func nothingGiven() async throws {
        try await besiege { tortureRun in
            for _ in 1...2 { try tortureRun.loseDisk() }
            #expect(tortureRun.daemon.log.contains("Could not open the database; retrying"))
            #expect(!tortureRun.daemon.log.contains("moving it aside"))
        }
    }

    @Test("Acknowledged records survive a power cut")
    func power() async throws {
        let tools = try ScratchFolder(named: "issued-torture")
        let disk = try FaultLibrary.buildDisk(in: tools)
        try await besiege { tortureRun in
            for cut in TortureRun.Cut.allCases { try tortureRun.cutPower(cut, disk: disk) }
            #expect(tortureRun.table.unreached == [])
        }
    }

    @Test("No id is assigned twice after a restore, a purge or a repair, with kills meanwhile")
    func maintenance() async throws {
        try await besiege { tortureRun in
            try tortureRun.goBackToBackup()
            try tortureRun.purgeNewest()
            try tortureRun.repair()
        }
    }

    @Test("The oracle detects a single missing row, even after retention has removed others")
    func oracle() async throws {
        try await besiege(checksDestination: false) { tortureRun in
            let fault = try tortureRun.hideRow(.ofOpenRange)
            #expect(fault.contains("were seen"))
        }
        try await besiege(maxSize: "20M", checksDestination: false) { tortureRun in
            let fault = try tortureRun.hideRow(.ofThinnedRange)
            #expect(fault.contains("claims"))
        }
    }

    @Test("Changes of the wall clock remove nothing and cause no error")
    func clock() async throws {
        try await besiege { tortureRun in
            for days in [400, -400] { try tortureRun.jump(by: .seconds(86_400 * days)) }
        }
    }

    @Test("The daemon starts and stores reports, however the files of its store were damaged")
    func damage() async throws {
        _ = try await DamageRun.run()
    }
}

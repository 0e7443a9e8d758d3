import FakeLogz
import IssueTestSupport
import Testing
import Torture
import UnixIO

/// The short form; `scripts/torture` is the long one.
@Suite("A daemon that is tortured", .daemonLog)
struct TortureTests {
    /// Runs a siege, whose chance is the same each time.
    private func besiege(
        maxSize: String = "56M", asksDestination: Bool = true, _ body: (Siege) throws -> Void
    ) async throws {
        let tools = try ScratchFolder(named: "issued-torture")
        let library = try FaultLibrary.build(in: tools)
        let control = try FaultControl(path: tools["faults"])
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let configuration = Siege.configuration(listener, control: control, library: library, maxSize: maxSize)
        try await DaemonFixture.with(configuration, starts: false) { daemon in
            let siege = try Siege(daemon, listener, control: control, seed: 1)
            defer { siege.end() }
            try body(siege)
            if asksDestination { try siege.checkForwarding() }
        }
    }

    @Test(
        "Killed before or after what makes a commit, a migration or a cursor's move, it loses and doubles nothing"
    )
    func namedPoints() async throws {
        try await besiege { siege in
            let points = try siege.control.points
            #expect(points.count > 50)
            let wanted = [
                "commit: records", "commit", "cursor: commit", "settle: commit", "migration: commit", "log: sync",
                "receipt", "forget: postings",
            ]
            for (index, name) in points.enumerated() {
                let place = name.split(separator: " ", maxSplits: 1).last.map { String($0) }
                guard let place, wanted.contains(place) else { continue }
                // What retention does next is chance, so that a point may be passed by.
                for _ in 1...3 {
                    try siege.kill(at: index + 1, name)
                    if !siege.table.unreached.contains("SIGKILL \(name)") { break }
                }
            }
            #expect(siege.table.unreached == [])
        }
    }

    @Test("Killed, stopped, ended or reloaded at any moment it loses and doubles nothing")
    func anyMoment() async throws {
        try await besiege { siege in
            for _ in 1...6 { try siege.killAtRandom() }
            try siege.stopAndContinue()
            try siege.reload()
            try siege.restart()
        }
    }

    @Test("Where calls on its files fail it goes on, and starts nevertheless")
    func failingCalls() async throws {
        try await besiege { siege in
            for number in [1, 3, 10] {
                try siege.failCall(number, count: 5, with: .inputOutput, "EIO")
                try siege.failCall(number, count: 5, with: .deviceFull, "ENOSPC")
            }
            for number in [1, 4, 9] { _ = try siege.failCallAtStart(number, count: 2, with: .inputOutput, "EIO") }
        }
    }

    @Test("A disk that does not give a page, again and again, has no sound database set aside")
    func pagesNotGiven() async throws {
        try await besiege { siege in
            func lines(_ words: String) -> Int { siege.daemon.log.split(separator: "\n").count { $0.contains(words) } }
            // A store that another one has taken the place of contradicts the oracle, too.
            for number in 1...30 where lines("reopening it") < 3 {
                try siege.failCall(number, count: 8, with: .inputOutput, "EIO")
            }
            #expect(lines("reopening it") >= 3)
            #expect(lines("moving it aside") == 0)
        }
    }

    @Test("A disk that gives nothing at all for a while has no database set aside, since there could be no other")
    func nothingGiven() async throws {
        try await besiege { siege in
            for _ in 1...2 { try siege.loseDisk() }
            #expect(siege.daemon.log.contains("Could not open the database; retrying"))
            #expect(!siege.daemon.log.contains("moving it aside"))
        }
    }

    @Test("Where the power is cut, what it has answered is there")
    func power() async throws {
        let tools = try ScratchFolder(named: "issued-torture")
        let disk = try FaultLibrary.buildDisk(in: tools)
        try await besiege { siege in
            for cut in Siege.Cut.allCases { try siege.cutPower(cut, disk: disk) }
        }
    }

    @Test("Whatever is done to its store on purpose, be it killed meanwhile, it gives no id out twice")
    func maintenance() async throws {
        try await besiege { siege in
            try siege.goBackToBackup()
            try siege.purgeNewest()
            try siege.repair()
        }
    }

    @Test("The oracle misses a single row, also where retention has taken others before anybody looked")
    func oracle() async throws {
        try await besiege(asksDestination: false) { siege in
            let said = try siege.hideRow(.ofOpenRange)
            #expect(said.contains("were seen"))
        }
        try await besiege(maxSize: "20M", asksDestination: false) { siege in
            let said = try siege.hideRow(.ofThinnedRange)
            #expect(said.contains("claims"))
        }
    }

    @Test("A wall clock that is set forward and back removes nothing and confuses nothing")
    func clock() async throws {
        try await besiege { siege in
            for days in [400, -400] { try siege.jump(by: .seconds(86_400 * days)) }
        }
    }

    @Test("Whatever lies on the disk in place of its database, it starts and collects")
    func damage() async throws {
        _ = try await DamageRun.all()
    }
}

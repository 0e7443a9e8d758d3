import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Maintenance of a store that lacks space")
struct StoreMaintenanceTests {
    /// A store in which one user has reported each of many issues once, and another user has reported one issue often.
    private struct Fixture {
        static let many: UInt32 = 1000
        static let often: UInt32 = 1001
        static let issues = 6000
        static let quietRecords = 2000

        let writer: StoreWriter
        let shell: DatabaseConnection
        let folder: String
        private let limits: LimitSettings

        init(_ path: String) throws {
            var limits = LimitSettings()
            limits.newGroupsPerApplication = Rate(100_000, per: .seconds(1))
            limits.newSeriesPerApplication = Rate(100_000, per: .seconds(1))
            var settings = StoreWriterSettings(path: path, limits: limits, randomBits: { 0x0123_4567_89AB_CDEF })
            settings.rangeRecords = 1000
            settings.retention.keepFree = 0
            (self.limits, folder) = (limits, FileSystem.parentFolder(of: path))
            writer = try StoreWriter(settings)
            shell = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
            _ = try BlockReader(on: shell)
            let quiet = IssueRecord(
                message: "quiet", app: Application(name: "quiet"),
                metadata: ["text": .string(String(repeating: "x", count: 100))])
            for part in 0..<60 {
                let some = (0..<Self.issues / 60).map {
                    IssueRecord(message: Self.name(part * 1000 + $0), app: Application(name: "many"))
                }
                try commit(some, uid: Self.many)
                try commit([IssueRecord](repeating: quiet, count: Self.quietRecords / 60), uid: Self.often)
            }
            try writer.closeOpenRange()
        }

        /// A word without digits, so that each message is an issue of its own.
        private static func name(_ number: Int) -> String {
            let letters = Array("abcdefghij")
            return String(String(number).map { letters[$0.wholeNumberValue ?? 0] }) + " failed"
        }

        func commit(_ records: [IssueRecord], uid: UInt32) throws {
            _ = try writer.commit([Submission(records, uid: uid)], wall: Clock.wall, monotonic: Clock.monotonic)
        }

        func facts() throws -> RetentionSnapshot {
            try writer.retentionSnapshot(freeBytes: nil, wall: Clock.wall, monotonic: Clock.monotonic)
        }

        /// Lowers the maximum size, and performs maintenance until the store is below it or no closed range is left.
        func reduce(to maxSize: Int64) throws {
            writer.reload(limits, RetentionSettings(maxSize: maxSize, keepFree: 0))
            var maintenance = StoreMaintenance(folder: folder, removed: {}, log: .silent)
            let retention = Retention(settings: writer.retention)
            for _ in 0..<20_000 {
                try maintenance.step(writer, isIdle: false, at: Clock.monotonic)
                let facts = try facts()
                if !retention.lacksRoom(facts) || facts.oldest == nil { return }
            }
            Issue.record("maintenance has not reduced the store")
        }

        func collect(_ users: Set<UInt32>) throws {
            var next: SeriesID? = 0
            while let series = next { next = try writer.collectSeries(of: users, above: series).last }
        }

        func records(of uid: UInt32) throws -> Int64 {
            try number(
                """
                SELECT count(*) FROM records JOIN series ON series.id = series JOIN accounts ON accounts.id = account
                WHERE uid = \(uid)
                """)
        }

        func series(of uid: UInt32) throws -> Int64 {
            try number("SELECT count(*) FROM series JOIN accounts ON accounts.id = account WHERE uid = \(uid)")
        }

        /// Removes the records of all closed ranges, but no series.
        func forgetAll() throws {
            while let oldest = try facts().oldest {
                while !(try writer.forget(oldest).isDone) {}
            }
        }

        func number(_ sql: String) throws -> Int64 {
            try Statement(composedSQL: sql, on: shell).all { $0.int64(0) }.first ?? 0
        }
    }

    @Test("A user with many issues of one record each costs others no records, even after the user's own are removed")
    func manyIssues() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            let before = try fixture.records(of: Fixture.often)
            #expect(try fixture.number("SELECT count(*) FROM groups") > Fixture.issues)
            try fixture.reduce(to: try fixture.facts().usedBytes / 2)
            #expect(try fixture.records(of: Fixture.often) == before)
            #expect(try fixture.records(of: Fixture.many) < Fixture.issues)
            #expect(try fixture.number("SELECT count(*) FROM groups") < Fixture.issues * 3 / 4)
            for sql in [
                "SELECT count(*) FROM records WHERE series NOT IN (SELECT id FROM series)",
                "SELECT count(*) FROM totals WHERE series NOT IN (SELECT id FROM series)",
                "SELECT count(*) FROM postings WHERE series NOT IN (SELECT id FROM series)",
            ] {
                #expect(try fixture.number(sql) == 0, "\(sql)")
            }
        }
    }

    @Test("Only users who have many series without records lose these series and their counts")
    func otherUsers() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            let other: UInt32 = 1002
            try fixture.commit([IssueRecord(message: "of another user", app: Application(name: "other"))], uid: other)
            try fixture.writer.closeOpenRange()
            try fixture.commit([IssueRecord(message: "newest")], uid: Fixture.often)
            try fixture.reduce(to: 0)
            #expect(try fixture.records(of: other) == 0)
            #expect(try fixture.series(of: Fixture.many) < Fixture.issues / 4)
            #expect(try fixture.series(of: other) == 1)
            #expect(try fixture.series(of: Fixture.often) == 2)
            #expect(
                try fixture.number(
                    """
                    SELECT sum(counts.records) FROM counts JOIN series ON series.id = series
                    JOIN accounts ON accounts.id = account WHERE uid = \(other)
                    """) == 1)
        }
    }

    @Test("After a restart, series without records are counted before they are removed")
    func counting() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            var estimate = UnreferencedSeries()
            var next: SeriesID? = 0
            while let series = next { next = try fixture.writer.countUnreferencedSeries(above: series, &estimate) }
            #expect(estimate == UnreferencedSeries())
            try fixture.forgetAll()
            next = 0
            while let series = next { next = try fixture.writer.countUnreferencedSeries(above: series, &estimate) }
            #expect(estimate.users(maxSize: 0, AccountableUsers()) == [Fixture.many])
            // As after a restart, maintenance has no count of the series without records.
            try fixture.commit([IssueRecord(message: "next")], uid: Fixture.often)
            try fixture.writer.closeOpenRange()
            try fixture.commit([IssueRecord(message: "newest")], uid: Fixture.often)
            try fixture.reduce(to: 0)
            #expect(try fixture.series(of: Fixture.many) == 0)
        }
    }

    @Test("Series with records in the open range, and the newest series, are kept")
    func openRange() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            let reported = [IssueRecord(message: "kept", app: Application(name: "many"))]
            try fixture.commit(reported, uid: Fixture.many)
            try fixture.commit([IssueRecord(message: "newest")], uid: Fixture.often)
            try fixture.reduce(to: 0)
            try fixture.collect([Fixture.many, Fixture.often])
            #expect(try fixture.number("SELECT count(*) FROM series") == 2)
            #expect(try fixture.number("SELECT count(*) FROM records") == 2)
            // Issues that were removed can be reported again.
            try fixture.commit([IssueRecord(message: "quiet", app: Application(name: "quiet"))], uid: Fixture.often)
            try fixture.commit(reported, uid: Fixture.many)
            #expect(try fixture.number("SELECT count(*) FROM series") == 3)
            #expect(
                try fixture.number("SELECT count(*) FROM records WHERE series NOT IN (SELECT id FROM series)") == 0)
        }
    }

    @Test("A failure is logged again after the tasks of maintenance have succeeded, also if no records are removed")
    func repeatedFailure() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            try fixture.forgetAll()
            var retention = RetentionSettings(keepFree: 0)
            // On a small file system, even a few free pages are returned.
            retention.fileSystemBytes = 4 << 20
            var maintenance = StoreMaintenance(folder: fixture.folder, removed: {}, log: .silent)
            var now = Clock.monotonic
            /// Performs the check that follows a failure and the steps that it chooses.
            func succeed(isIdle: Bool) throws {
                now = now.advanced(by: .seconds(120))
                for _ in 0..<1000 { try maintenance.step(fixture.writer, isIdle: isIdle, at: now) }
            }
            func isLogged() -> Bool { maintenance.failed(by: .noSpace, at: now) }
            // While the writer is not idle, no pages are returned. The first check deletes old producer marks.
            fixture.writer.reload(LimitSettings(), retention)
            try succeed(isIdle: false)
            #expect(isLogged() && !isLogged())
            // Only free pages are returned, since marks are deleted once an hour.
            let pages = try fixture.number("PRAGMA page_count")
            try succeed(isIdle: true)
            #expect(try fixture.number("PRAGMA page_count") < pages)
            #expect(isLogged() && !isLogged())
            retention.resolveAfter = .seconds(60)
            fixture.writer.reload(LimitSettings(), retention)
            try succeed(isIdle: false)
            #expect(isLogged() && !isLogged())
            // An hour later, marks are deleted again.
            retention.resolveAfter = .zero
            fixture.writer.reload(LimitSettings(), retention)
            now = now.advanced(by: .seconds(3600))
            try succeed(isIdle: false)
            #expect(isLogged())
        }
    }

    @Test(
        "If a limit on space is lowered, the newest records remain, as many as fit, whatever range they are in")
    func lowered() throws {
        try ScanFixture.withPath { path in
            var settings = StoreWriterSettings(path: path, limits: LimitSettings(), randomBits: { 1 })
            settings.retention.keepFree = 0
            let writer = try StoreWriter(settings)
            let folder = FileSystem.parentFolder(of: path)
            var number: UInt64 = 0
            func commit(_ count: Int) throws {
                let records = (0..<count).map { _ in
                    number += 1
                    return IssueRecord(
                        message: "loud", metadata: ["text": .string(ScanFixture.noise(60, seed: number))])
                }
                _ = try writer.commit(
                    [Submission(records, uid: 1000)], wall: Clock.wall, monotonic: Clock.monotonic)
            }
            func facts() throws -> RetentionSnapshot {
                try writer.retentionSnapshot(freeBytes: nil, wall: Clock.wall, monotonic: Clock.monotonic)
            }
            for _ in 0..<40 { try commit(1000) }
            let full = try facts().usedBytes
            #expect(writer.closedRanges == 0)
            let maxSize = full / 2
            writer.reload(LimitSettings(), RetentionSettings(maxSize: maxSize, keepFree: 0))
            var maintenance = StoreMaintenance(folder: folder, removed: {}, log: .silent)
            func maintain() throws {
                let retention = Retention(settings: writer.retention)
                var steps = 0
                repeat {
                    try maintenance.step(writer, isIdle: false, at: Clock.monotonic)
                    steps += 1
                } while try retention.lacksRoom(facts()) && steps < 200
            }
            let connection = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5))
            func rows() throws -> [Int64] {
                try Statement(
                    composedSQL: "SELECT sum(records), min(first_id), max(last_id) FROM blocks", on: connection
                ).all { [$0.int64(0), $0.int64(1), $0.int64(2)] }[0]
            }
            try maintain()
            let after = try rows()
            #expect(try facts().usedBytes <= maxSize)
            #expect(try facts().usedBytes > maxSize * 3 / 4)
            #expect(after[0] > 10_000)
            // The newest records are left, without a gap.
            #expect(after[2] == 40_000)
            #expect(after[2] - after[1] < after[0])
            // The same holds while more records arrive.
            for _ in 0..<40 {
                try commit(500)
                try maintain()
                let now = try rows()
                #expect(now[0] > after[0] / 2)
                #expect(now[2] - now[1] < now[0])
            }
            #expect(try rows()[1] > 20_000)
            #expect(try facts().usedBytes < maxSize * 5 / 4)
        }
    }

    @Test("Removals for one reason are logged at most once a minute, with their sums")
    func removalLog() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            let (log, lines) = keptLog()
            let before = try fixture.records(of: Fixture.many) + fixture.records(of: Fixture.often)
            fixture.writer.reload(LimitSettings(), RetentionSettings(maxSize: 0, keepFree: 0))
            var maintenance = StoreMaintenance(folder: fixture.folder, removed: {}, log: log)
            let start = Clock.monotonic
            func work(at now: MonotonicInstant) throws {
                for _ in 0..<1000 where try fixture.facts().oldest != nil {
                    try maintenance.step(fixture.writer, isIdle: false, at: now)
                }
            }
            try work(at: start)
            let early = lines()
            #expect(!early.isEmpty && Set(early.map { $0.split(separator: " records=")[0] }).count == early.count)
            for _ in 0..<1000 {
                try maintenance.step(fixture.writer, isIdle: false, at: start.advanced(by: .seconds(61)))
            }
            let removed = lines().compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("records=") }.flatMap { Int64($0.dropFirst(8)) }
            }
            let left = try fixture.records(of: Fixture.many) + fixture.records(of: Fixture.often)
            #expect(removed.reduce(0, +) == before - left)
        }
    }

    @Test("While other files fill the disk, this is logged once, and free space is checked every five seconds")
    func freeSpace() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            let (log, lines) = keptLog()
            func wait(keepFree: Int64) throws -> Duration {
                fixture.writer.reload(LimitSettings(), RetentionSettings(maxSize: .max, keepFree: keepFree))
                var maintenance = StoreMaintenance(folder: fixture.folder, removed: {}, log: log)
                let now = Clock.monotonic
                for _ in 0..<1000 where maintenance.deadline(fixture.writer) <= now {
                    try maintenance.step(fixture.writer, isIdle: true, at: now)
                }
                return now.duration(to: maintenance.deadline(fixture.writer))
            }
            #expect(try wait(keepFree: 0) > .seconds(10))
            #expect(lines() == [])
            #expect(try wait(keepFree: .max) == .seconds(5))
            #expect(lines().count == 1)
            #expect(lines().first?.contains("id=\(LogEvent.storeKeepFreeUnreachable.id)") == true)
        }
    }

    @Test("The file shrinks until no free pages are left, even if a range is closed meanwhile")
    func shrinking() throws {
        try ScanFixture.withPath { path in
            let fixture = try Fixture(path)
            for number in 0..<300 {
                let record = IssueRecord(
                    message: "large", app: Application(name: "large"),
                    metadata: ["text": .string(ScanFixture.noise(20_000, seed: UInt64(number)))])
                try fixture.commit([record], uid: Fixture.often)
            }
            try fixture.writer.closeOpenRange()
            try fixture.forgetAll()
            var maintenance = StoreMaintenance(folder: fixture.folder, removed: {}, log: .silent)
            func work(until isDone: (_ spareBytes: Int64) -> Bool) throws {
                for _ in 0..<20_000 where try !isDone(fixture.facts().spareBytes) {
                    try maintenance.step(fixture.writer, isIdle: true, at: Clock.monotonic)
                }
            }
            try #require(try fixture.facts().spareBytes > 3 << 20)
            try work { $0 < 1 << 20 }
            #expect(try fixture.facts().spareBytes > 0)
            try fixture.commit([IssueRecord(message: "next")], uid: Fixture.often)
            try fixture.writer.closeOpenRange()
            try work { $0 == 0 }
            #expect(try fixture.facts().spareBytes == 0)
        }
    }
}

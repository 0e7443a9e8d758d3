import IssueCore
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("A wall clock that jumps")
struct WrongClockTests {
    private static let day: Int64 = 86_400

    /// Jumps of hours to decades in both directions, as of a clock that is set, was never set, or is broken.
    private static let jumps: [Int64] = [
        -day, day, -3 * day, 400 * day, -800 * day, 3600, -3600, 20_000 * day, -19_000 * day,
    ]

    @Test(
        "With a wall clock that jumps, log time never goes back behind a record, and nothing is lost or miscounted",
        arguments: PowerCutTests.seeds)
    func jumps(seed: UInt64) throws {
        try StoreFixture.with(seed: seed) { fixture, disk in
            try fixture.open()
            var (newest, lastStored) = (fixture.now, nil as RecordLogInstant?)
            for round in 0..<40 {
                let context = "seed \(seed), round \(round)"
                if fixture.below(2) == 0 {
                    let jump = Self.jumps[Int(fixture.below(Int64(Self.jumps.count)))]
                    fixture.store.wall = fixture.store.wall.advanced(by: .seconds(jump))
                }
                var stores = false
                switch fixture.below(8) {
                case 0: try fixture.take(.restart)
                case 1:
                    fixture.close()
                    disk.restart()
                    #expect(try fixture.recover() == [], "\(context)")
                case 2: try fixture.take(.closeRange)
                case 3:
                    try fixture.take(.forget)
                    // The removal is not synced, but the report after it is.
                    try fixture.take(.report)
                    stores = true
                default:
                    try fixture.take(fixture.below(2) == 0 ? .report : .reportNumbered)
                    stores = true
                }
                #expect(try fixture.faults() == [], "\(context)")
                // Across a restart, log time follows the wall clock, but by at most one day.
                let now = fixture.now
                if let lastStored { #expect(lastStored <= now, "\(context)") }
                if stores { lastStored = now }
                #expect(newest.duration(to: now) <= RecordLogClock.maxGap + .seconds(200), "\(context)")
                newest = now
            }
            #expect(try fixture.faultsAfterContinuing() == [])
        }
    }

    @Test("A wall clock that jumps does not change log time, even when all records are gone")
    func afterAllIsGone() throws {
        try StoreFixture.with(seed: 4) { fixture, _ in
            try fixture.open()
            try fixture.take(.report)
            let before = fixture.now
            // The clock is set back by ten years before another record, so that the range contains both times.
            fixture.store.wall = fixture.store.wall.advanced(by: .seconds(-3650 * Self.day))
            try fixture.take(.report)
            try fixture.take(.closeRange)
            let writer = try #require(fixture.writer)
            let range = try #require(
                try writer.retentionSnapshot(
                    freeBytes: nil, wall: fixture.store.wall, monotonic: fixture.store.monotonic
                )
                .oldest)
            while try !writer.forget(range).isDone {}
            try fixture.take(.restart)
            #expect(before.duration(to: fixture.now) < .seconds(1000))
            #expect(before <= fixture.now)
        }
    }
}

import IssueCore
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("A wall clock that jumps")
struct WrongClockTests {
    private static let day: Int64 = 86_400

    /// Jumps of days in both directions, also beyond any real time: a clock that was never set, or a broken one.
    private static let jumps: [Int64] = [
        -day, day, -3 * day, 400 * day, -800 * day, 3600, -3600, 20_000 * day, -19_000 * day,
    ]

    @Test(
        "never makes record log time go back, loses nothing, and counts correctly across restarts and cuts",
        arguments: PowerCutTests.seeds)
    func jumps(seed: UInt64) throws {
        try StoreScene.with(seed: seed) { scene, disk in
            try scene.open()
            var newest = scene.now
            for round in 0..<40 {
                let place = "seed \(seed), round \(round)"
                if scene.below(2) == 0 {
                    let jump = Self.jumps[Int(scene.below(Int64(Self.jumps.count)))]
                    scene.store.wall = scene.store.wall.advanced(by: .seconds(jump))
                }
                switch scene.below(8) {
                case 0: try scene.take(.restart)
                case 1:
                    scene.close()
                    disk.restart()
                    #expect(try scene.recover() == [], "\(place)")
                case 2: try scene.take(.closeRange)
                case 3: try scene.take(.forget)
                default: try scene.take(scene.below(2) == 0 ? .report : .reportNumbered)
                }
                #expect(try scene.faults() == [], "\(place)")
                // While the daemon is down there is only the wall clock, which is trusted for one day at most.
                let now = scene.now
                #expect(newest.duration(to: now) <= RecordLogClock.maxGap + .seconds(200), "\(place)")
                newest = now
            }
            #expect(try scene.faultsAfterContinuing() == [])
        }
    }

    @Test("is not used as record log time when all records are gone")
    func afterAllIsGone() throws {
        try StoreScene.with(seed: 4) { scene, _ in
            try scene.open()
            try scene.take(.report)
            let before = scene.now
            // Set back by ten years, with a record after it, so that the range contains both times.
            scene.store.wall = scene.store.wall.advanced(by: .seconds(-3650 * Self.day))
            try scene.take(.report)
            try scene.take(.closeRange)
            let writer = try #require(scene.writer)
            let range = try #require(
                try writer.retentionSnapshot(freeBytes: nil, wall: scene.store.wall, monotonic: scene.store.monotonic)
                    .oldest)
            while try !writer.forget(range).isDone {}
            try scene.take(.restart)
            #expect(before.duration(to: scene.now) < .seconds(1000))
            #expect(before <= scene.now)
        }
    }
}

import IssueProtocol
import Testing

@testable import IssueCore

struct RecordLogClockTests {
    private let start: Int64 = 1_800_000_000_000

    private func wall(_ milliseconds: Int64) -> IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: start + milliseconds)
    }

    private func monotonic(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .seconds(100) + .milliseconds(milliseconds))
    }

    @Test("The very first commit has an offset of zero, so log time is wall time")
    func first() {
        var clock = RecordLogClock()

        let reading = clock.committed(wall: wall(0), monotonic: monotonic(0))

        #expect(reading.log.milliseconds == start)
        #expect(reading.newOffset == 0)
        #expect(clock.state == RecordLogClock.State(log: reading.log, wall: wall(0)))
    }

    @Test("While both clocks agree, the offset stays the same and log time follows")
    func steady() {
        var clock = RecordLogClock()
        _ = clock.committed(wall: wall(0), monotonic: monotonic(0))

        let reading = clock.committed(wall: wall(5000), monotonic: monotonic(5000))

        #expect(reading.newOffset == nil)
        #expect(reading.log.milliseconds == start + 5000)
    }

    @Test(
        "If the wall clock is set, the offset changes and log time continues with the monotonic clock",
        arguments: [3_600_000, -3_600_000, 1_500, -1_500] as [Int64])
    func jump(by step: Int64) {
        var clock = RecordLogClock()
        _ = clock.committed(wall: wall(0), monotonic: monotonic(0))

        let reading = clock.committed(wall: wall(2000 + step), monotonic: monotonic(2000))

        #expect(reading.log.milliseconds == start + 2000)
        #expect(reading.wall == wall(2000 + step))
        #expect(reading.newOffset == -step)
    }

    @Test("Many small steps that add up to a jump are detected")
    func creeping() {
        var clock = RecordLogClock()
        _ = clock.committed(wall: wall(0), monotonic: monotonic(0))
        var offsets = 0

        for step in 1...20 as ClosedRange<Int64> {
            let reading = clock.committed(wall: wall(step * 1900), monotonic: monotonic(step * 1000))
            offsets += reading.newOffset == nil ? 0 : 1
            #expect(reading.log.milliseconds - start <= step * 1000 + 1000 * Int64(offsets + 1))
        }

        #expect(offsets >= 9)
    }

    @Test("After a step back of less than a second, the stored wall time and the offset stay the same")
    func held() {
        var clock = RecordLogClock()
        _ = clock.committed(wall: wall(1000), monotonic: monotonic(0))

        let reading = clock.committed(wall: wall(500), monotonic: monotonic(10))

        #expect(reading == .init(log: RecordLogInstant(milliseconds: start + 1000), wall: wall(1000), newOffset: nil))
    }

    @Test(
        "After a restart, log time advances by the difference in wall time, from zero up to a day",
        arguments: [(60_000, 60_000), (-60_000, 0), (172_800_000, 86_400_000)] as [(Int64, Int64)])
    func restart(gap: Int64, believed: Int64) {
        var before = RecordLogClock()
        _ = before.committed(wall: wall(0), monotonic: monotonic(0))
        var clock = RecordLogClock(restoring: before.state)

        let reading = clock.committed(wall: wall(gap), monotonic: MonotonicInstant(sinceBoot: .seconds(1)))

        #expect(reading.log.milliseconds == start + believed)
        #expect(reading.newOffset == (gap == believed ? nil : believed - gap))
    }

    @Test("Log time never goes backwards and is always stored wall time plus offset, whatever the wall clock does")
    func property() {
        var traffic = SeededGenerator(seed: 7)
        var clock = RecordLogClock()
        var monotonicTime: Int64 = 0
        var wallTime: Int64 = 0
        var offset: Int64 = 0
        var last = RecordLogInstant(milliseconds: .min)
        var lastWall: IssueTimestamp?

        for _ in 0..<5000 {
            let elapsed = traffic.number(below: 3000)
            monotonicTime += elapsed
            wallTime += elapsed
            if traffic.happens(oneIn: 10) { wallTime += traffic.number(below: 4000) - 2000 }
            if traffic.happens(oneIn: 50) { wallTime += traffic.number(below: 200_000_000) - 100_000_000 }
            if traffic.happens(oneIn: 100) {
                clock = RecordLogClock(restoring: clock.state)
                monotonicTime = traffic.number(below: 1000)
            }
            let reading = clock.committed(wall: wall(wallTime), monotonic: monotonic(monotonicTime))
            if let changed = reading.newOffset {
                offset = changed
                lastWall = nil
            }
            #expect(reading.log >= last)
            #expect(reading.log.milliseconds == reading.wall.millisecondsSince1970 + offset)
            if let lastWall { #expect(reading.wall >= lastWall) }
            (last, lastWall) = (reading.log, reading.wall)
        }
    }

    @Test("Reading the time does not advance the clock")
    func now() {
        var clock = RecordLogClock()
        _ = clock.committed(wall: wall(0), monotonic: monotonic(0))
        let before = clock

        #expect(clock.now(wall: wall(700), monotonic: monotonic(700)).milliseconds == start + 700)
        #expect(clock == before)
    }
}

import Foundation
import Testing
import UnixIO

@Suite("Clocks")
struct TimeTests {
    @Test("The wall clock agrees with Foundation's")
    func wallClock() {
        let oracle = Date().timeIntervalSince1970 * 1000
        #expect(abs(Double(WallClock.nowMilliseconds) - oracle) < 2000)
    }

    @Test("The monotonic clock never goes backwards")
    func monotonic() {
        let first = MonotonicClock.now
        let second = MonotonicClock.now
        #expect(first <= second)
    }

    @Test("Adding and subtracting are inverse")
    func arithmetic() {
        let start = KernelInstant(nanoseconds: 5)
        #expect(start.advanced(by: .milliseconds(3)).nanoseconds == 3_000_005)
        #expect(start.duration(to: start.advanced(by: .seconds(-7))) == .seconds(-7))
        #expect(start.sinceBoot == .nanoseconds(5))
    }

    @Test("A time that is too far away is clamped")
    func saturation() {
        let start = KernelInstant(nanoseconds: 5)
        #expect(start.advanced(by: .seconds(Int64.max)).nanoseconds == .max)
        #expect(start.advanced(by: .nanoseconds(Int64.max)).nanoseconds == .max)
        #expect(KernelInstant(nanoseconds: -5).advanced(by: .seconds(Int64.min)).nanoseconds == .min)
        #expect(Duration.seconds(Int64.max).clampedNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).clampedNanoseconds == .min)
    }
}

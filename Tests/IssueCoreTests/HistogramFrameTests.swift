import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Histogram buckets")
struct HistogramFrameTests {
    private let now = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private func time(_ text: String) throws -> IssueTimestamp { try #require(IssueTimestamp(text)) }

    @Test("Buckets start at full hours and at midnight and include the minutes in which the time range starts and ends")
    func whole() throws {
        let since = try time("2026-11-21T10:20:30.500Z")
        let until = try time("2026-11-21T12:00:00.000Z")
        let hours = (try HistogramFrame(bucket: .seconds(3600), since: since, until: until, now: now))
        #expect(hours.start.description == "2026-11-21T10:00:00.000Z")
        #expect(hours.bucketCount == 3)
        #expect(hours.times.lowerBound == (try time("2026-11-21T10:20:00Z")).millisecondsSince1970)
        #expect(hours.times.upperBound == (try time("2026-11-21T12:00:59.999Z")).millisecondsSince1970)
        #expect(hours.bucket(ofMinute: hours.minutes.lowerBound) == 0)
        #expect(hours.bucket(ofMinute: hours.minutes.upperBound) == 2)
        let days = (try HistogramFrame(bucket: .seconds(86_400), since: since, until: until, now: now))
        #expect(days.start.description == "2026-11-21T00:00:00.000Z")
        #expect(days.bucketCount == 1)
    }

    @Test("The default time range is the last 24 hours, and a range that ends before it starts is one minute")
    func usual() throws {
        let day = (try HistogramFrame(bucket: .seconds(3600), since: nil, until: nil, now: now))
        #expect(day.times.contains(now.millisecondsSince1970))
        #expect(day.times.contains(now.millisecondsSince1970 - 86_400_000))
        #expect(day.bucketCount == 25)
        let turned = try HistogramFrame(
            bucket: .seconds(60), since: now, until: now.advanced(by: .seconds(-999)), now: now)
        #expect(turned.bucketCount == 1)
    }

    @Test("A bucket width that is not a whole number of minutes is refused")
    func refused() {
        for bucket: Duration in [.zero, .seconds(-60), .seconds(59), .seconds(61), .milliseconds(1)] {
            #expect(throws: QueryLimits.Excess.self) {
                try HistogramFrame(bucket: bucket, since: nil, until: nil, now: now)
            }
        }
    }

    @Test("Too many buckets are refused with their number, the limit and a width that fits")
    func tooMany() throws {
        let minutes = now.advanced(by: .seconds(-60 * 999))
        #expect(try HistogramFrame(bucket: .seconds(60), since: minutes, until: nil, now: now).bucketCount == 1000)
        let week = now.advanced(by: .seconds(-7 * 86_400))
        let excess = QueryLimits.Excess(
            field: "bucket",
            reason:
                "10081 buckets of 1 min are needed for this time range, and at most 1000 are allowed; use buckets of "
                + "at least 11 min")
        #expect(throws: excess) { try HistogramFrame(bucket: .seconds(60), since: week, until: nil, now: now) }
        #expect(try HistogramFrame(bucket: .seconds(660), since: week, until: nil, now: now).bucketCount <= 1000)
        let ever = IssueTimestamp(millisecondsSince1970: .min)
        let never = IssueTimestamp(millisecondsSince1970: .max)
        #expect(throws: QueryLimits.Excess.self) {
            try HistogramFrame(bucket: .seconds(60), since: ever, until: never, now: now)
        }
    }
}

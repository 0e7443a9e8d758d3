import Testing

@testable import IssueCore

struct TokenBucketTests {
    private let limit = BucketLimit(burst: 5, refill: Rate(1, per: .seconds(300)))

    private func at(_ milliseconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: milliseconds) }

    @Test("A stored bucket that has become larger gets the difference at once, and a smaller one keeps what fits")
    func resized() {
        var bucket = TokenBucket(limit, at: at(0))
        bucket.take(4, at: at(0))
        func resized(_ burst: Int64) -> Int64 {
            let changed = BucketLimit(burst: burst, refill: limit.refill)
            return TokenBucket(changed, level: bucket.level, maxLevel: bucket.maxLevel, at: bucket.at).tokens(at: at(0))
        }
        #expect(resized(limit.burst) == limit.burst - 4)
        #expect(resized(1000) == 996)
        #expect(resized(1) == min(1, limit.burst - 4))
    }

    @Test("A new bucket holds its burst, and is refilled at its rate up to the burst")
    func burstThenRefill() {
        var bucket = TokenBucket(limit, at: at(0))
        for _ in 0..<5 { bucket.take(at: at(0)) }

        #expect(!bucket.has(at: at(299_999)))
        #expect(bucket.whenNext(after: at(0)) == at(300_000))
        #expect(bucket.has(at: at(300_000)))
        #expect(bucket.tokens(at: at(10_000_000)) == 5)
    }

    @Test("Refills add up exactly, however often the bucket is read and stored")
    func exact() throws {
        var often = TokenBucket(BucketLimit(burst: 1000, refill: Rate(7, per: .seconds(11))), level: 0, at: at(0))
        let seldom = often
        for step in stride(from: 1, through: 100_000, by: 37) as StrideThrough<Int64> {
            let level = try #require(often.level)
            often = TokenBucket(
                BucketLimit(burst: 1000, refill: Rate(7, per: .seconds(11))), level: level, at: often.at)
            often.take(0, at: at(step))
        }

        #expect(often.tokens(at: at(11_000_000)) == seldom.tokens(at: at(11_000_000)))
        #expect(often.whenNext(after: at(100_000)) == seldom.whenNext(after: at(100_000)))
    }

    @Test("A time before the last one neither fills nor empties the bucket")
    func backwards() {
        var bucket = TokenBucket(limit, at: at(1_000_000))
        for _ in 0..<5 { bucket.take(at: at(1_000_000)) }

        #expect(!bucket.has(at: at(0)))
        bucket.takeAvailable(upTo: 3, at: at(0))
        #expect(bucket.at == at(1_000_000))
        #expect(!bucket.has(at: at(1_000_000 + 299_999)))
    }

    @Test(
        "A burst or rate of zero means unlimited",
        arguments: [
            BucketLimit.unlimited, BucketLimit(burst: 0, refill: Rate(1, per: .seconds(1))),
            BucketLimit(burst: 5, refill: .unlimited), BucketLimit(burst: 5, refill: Rate(3, per: .zero)),
        ])
    func unlimited(limit: BucketLimit) {
        var bucket = TokenBucket(limit, at: at(0))

        #expect(bucket.isUnlimited)
        #expect(bucket.level == nil)
        for _ in 0..<1000 { bucket.take(at: at(0)) }
        #expect(bucket.has(at: at(0)))
        #expect(bucket.whenNext(after: at(3)) == at(3))
    }

    @Test("Without a stored capacity, the bucket keeps as much of its level as fits under another limit")
    func relimited() {
        var bucket = TokenBucket(limit, at: at(0))
        bucket.take(3, at: at(0))
        let under = { (limit: BucketLimit) in TokenBucket(limit, level: bucket.level, at: bucket.at) }

        #expect(under(BucketLimit(burst: 50, refill: Rate(1, per: .seconds(1)))).tokens(at: at(0)) == 2)
        #expect(under(BucketLimit(burst: 1, refill: Rate(1, per: .seconds(1)))).tokens(at: at(0)) == 1)
        #expect(under(.unlimited).isUnlimited)
    }

    @Test("Extreme numbers do not trap")
    func extremes() {
        let huge = BucketLimit(burst: .max, refill: Rate(.max, per: .seconds(Int64.max / 2)))
        var bucket = TokenBucket(huge, at: at(.min))

        #expect(bucket.has(at: at(.max)))
        bucket.take(at: at(.max))
        #expect(TokenBucket(limit, level: .infinity, at: at(0)).tokens(at: at(0)) == 5)
        #expect(TokenBucket(limit, level: -1e300, at: at(0)).tokens(at: at(0)) == 0)
        #expect(bucket.whenNext(after: at(.max)) == at(.max))
    }

    @Test("In any period, no more tokens are taken than the bucket's burst and refill allow")
    func bound() {
        var traffic = SeededGenerator(seed: 3)
        var bucket = TokenBucket(BucketLimit(burst: 20, refill: Rate(3, per: .seconds(7))), at: at(0))
        var time: Int64 = 0
        var taken: [Int64] = []
        for _ in 0..<4000 {
            time += traffic.number(below: 4000)
            while bucket.has(at: at(time)) {
                bucket.take(at: at(time))
                taken.append(time)
            }
        }

        var excess: Int64 = .min
        for first in stride(from: 0, to: taken.count, by: 13) {
            for last in stride(from: first, to: taken.count, by: 17) {
                let allowed = 20 + (taken[last] - taken[first]) * 3 / 7000 + 1
                excess = max(excess, Int64(last - first + 1) - allowed)
            }
        }
        #expect(taken.count > 100)
        #expect(excess <= 0)
    }
}

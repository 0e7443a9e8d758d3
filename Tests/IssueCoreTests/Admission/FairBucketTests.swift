import Testing

@testable import IssueCore

struct FairBucketTests {
    private static let limit = BucketLimit(burst: 60, refill: Rate(60, per: .seconds(60)))

    private func at(_ milliseconds: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: milliseconds) }

    /// Takes as many tokens as the user can get at one time.
    private func drain(
        _ bucket: inout FairBucket, _ user: UInt32, atMost count: Int = .max, at now: RecordLogInstant
    ) -> Int {
        var taken = 0
        while taken < count, bucket.has(for: user, at: now) {
            bucket.take(for: user, at: now)
            taken += 1
        }
        return taken
    }

    @Test("A single user gets two thirds of the unreserved tokens at once, and then all of the refill")
    func alone() {
        var bucket = FairBucket(Self.limit, at: at(0))

        #expect(drain(&bucket, 1001, at: at(0)) == 24)
        var taken = 0
        for second in 1...600 as ClosedRange<Int64> { taken += drain(&bucket, 1001, at: at(second * 1000)) }
        #expect((599...600).contains(taken))
    }

    @Test(
        "However many users take all they can, tokens are left for a system user", arguments: [1, 3, 60, 500])
    func systemReserve(users: UInt32) {
        var bucket = FairBucket(Self.limit, at: at(0))
        for round in 0..<50 as Range<Int64> {
            for user in 0..<users { _ = drain(&bucket, 1000 + user, at: at(round * 100)) }
        }

        #expect(drain(&bucket, 0, at: at(5000)) >= 12)
    }

    @Test("After ten users have taken up to 15 tokens each, five others still get one token each")
    func newcomers() {
        var bucket = FairBucket(Self.limit, at: at(0))
        for user in 1001...1010 as ClosedRange<UInt32> { _ = drain(&bucket, user, atMost: 15, at: at(0)) }
        let newcomers = (2001...2005 as ClosedRange<UInt32>).map { drain(&bucket, $0, at: at(0)) }

        #expect(newcomers == [1, 1, 1, 1, 1])
    }

    @Test("System users who take all they can leave tokens for other users")
    func systemFlood() {
        var bucket = FairBucket(Self.limit, at: at(0))
        for user in [0, 33, 102] as [UInt32] { _ = drain(&bucket, user, at: at(0)) }

        #expect(drain(&bucket, 1001, at: at(0)) >= 1)
    }

    @Test("Users who always want more get equal parts of the refill, and a user who wants less gets all they want")
    func equalParts() {
        var bucket = FairBucket(Self.limit, at: at(0))
        var taken: [UInt32: Int] = [:]
        var refused = 0
        for tick in 0..<36_000 as Range<Int64> {
            // Without fairness, the first user in this order would get everything.
            for user in 1001...1005 as ClosedRange<UInt32> {
                taken[user, default: 0] += drain(&bucket, user, at: at(tick * 100))
            }
            // One token every twelve seconds, half of an equal part.
            guard tick % 120 == 119 else { continue }
            if drain(&bucket, 2000, atMost: 1, at: at(tick * 100)) == 0 { refused += 1 }
        }

        let (smallest, largest) = (taken.values.min() ?? 0, taken.values.max() ?? 0)
        #expect(refused == 0)
        #expect(smallest >= 600)
        #expect(largest - smallest <= 30)
        #expect(taken.values.reduce(0, +) + 300 <= 60 + 3600)
    }

    @Test("Whatever users do, the bucket never gives more than burst and refill", arguments: 0..<8 as Range<UInt64>)
    func bound(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var bucket = FairBucket(Self.limit, at: at(0))
        var (time, taken) = (Int64(0), Int64(0))
        for _ in 0..<20_000 {
            if traffic.happens(oneIn: 5) { time += traffic.number(below: 500) }
            let user = UInt32(traffic.number(below: 400)) * 7
            guard bucket.has(for: user, at: at(time)) else { continue }
            bucket.take(for: user, at: at(time))
            taken += 1
            #expect(bucket.uses.count <= FairBucket.maxUsers)
        }
        #expect(taken <= 60 + time / 1000)
        #expect(taken > 60)
    }

    @Test("Stored and restored at any time, the bucket gives the same results", arguments: 0..<4 as Range<UInt64>)
    func restored(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var bucket = FairBucket(Self.limit, at: at(0))
        var other = bucket
        var time: Int64 = 0
        for _ in 0..<5000 {
            if traffic.happens(oneIn: 4) { time += traffic.number(below: 2000) }
            let user = UInt32(traffic.number(below: 12)) * 100
            let answer = bucket.has(for: user, at: at(time))
            #expect(other.has(for: user, at: at(time)) == answer)
            if answer {
                bucket.take(for: user, at: at(time))
                other.take(for: user, at: at(time))
            }
            guard traffic.happens(oneIn: 10) else { continue }
            other = FairBucket(Self.limit, level: other.tokens.level, uses: other.uses, at: other.tokens.at)
        }
        #expect(other == bucket)
    }

    @Test("`whenNext` returns the earliest time at which the user can have a token", arguments: 0..<4 as Range<UInt64>)
    func next(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var bucket = FairBucket(Self.limit, at: at(0))
        var time: Int64 = 0
        for _ in 0..<3000 {
            time += traffic.number(below: 300)
            let user = UInt32(traffic.number(below: 8)) * 300
            let next = bucket.whenNext(for: user, after: at(time))
            #expect(bucket.has(for: user, at: next))
            if next > at(time) {
                #expect(!bucket.has(for: user, at: next.advanced(by: .milliseconds(-1))))
            } else {
                bucket.take(for: user, at: at(time))
            }
        }
    }

    @Test("A limit of one token serves users in order of arrival, and a limit of zero lets all through")
    func small() {
        var single = FairBucket(BucketLimit(burst: 1, refill: Rate(1, per: .seconds(60))), at: at(0))
        #expect(drain(&single, 1001, at: at(0)) == 1)
        #expect(drain(&single, 0, at: at(0)) == 0)
        #expect(drain(&single, 1002, at: at(60_000)) == 1)

        var unlimited = FairBucket(.unlimited, at: at(0))
        #expect(drain(&unlimited, 1001, atMost: 1000, at: at(0)) == 1000)
        #expect(unlimited.uses.isEmpty)
    }
}

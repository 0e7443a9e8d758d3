import IssueCore
import IssueProtocol

/// A reproducible random number generator (SplitMix64) for test data.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(below bound: Int64) -> Int64 {
        Int64.random(in: 0..<bound, using: &self)
    }

    mutating func happens(oneIn chances: Int64) -> Bool {
        number(below: chances) == 0
    }

    /// Returns random records of several groups and applications with their times. They come in bursts with pauses;
    /// some are critical, muted or not reportable.
    mutating func log(records: Int, groups: Int64, accounts: Int64) -> [(
        candidate: AdmissionCandidate, at: RecordLogInstant
    )] {
        var seen: Set<Int64> = []
        var time: Int64 = 1_000_000
        return (1...Int64(records)).map { record in
            if happens(oneIn: 20) { time += number(below: 5_000) }
            if happens(oneIn: 500) { time += number(below: 2_000_000) }
            // Small group ids are frequent, as a few groups make up most of the traffic.
            let group = number(below: number(below: groups) + 1)
            let candidate = AdmissionCandidate(
                record: RowID(record), group: GroupID(group), account: AccountID(group % accounts),
                user: UInt32(group % accounts) / 2 * 998,
                severity: happens(oneIn: 30) ? .critical : [.warning, .error][Int(number(below: 2))],
                isFirstOfGroup: seen.insert(group).inserted, count: happens(oneIn: 10) ? number(below: 50) + 1 : 1,
                isReportable: !happens(oneIn: 40), isMuted: happens(oneIn: 60))
            return (candidate, RecordLogInstant(milliseconds: time))
        }
    }
}

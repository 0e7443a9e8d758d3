/// Who gives room first when there is too little, and of what.
///
/// The user who takes most gives first: so no quiet user loses anything for
/// the noise of another. Of what he has the settled goes before the pending,
/// and the older before the younger; but a range that has given already waits
/// until the others are as small.
package enum Fairness {
    /// What gives next, or nothing where nobody has anything.
    package static func giver(_ holdings: [RetentionFacts.Holding]) -> RetentionFacts.Holding? {
        var sums: [UInt32: Int64] = [:]
        for holding in holdings where holding.bytes > 0 { sums[holding.user, default: 0] += holding.bytes }
        let most = sums.max { ($0.value, $1.key) < ($1.value, $0.key) }
        guard let user = most?.key else { return nil }
        let own = holdings.filter { $0.user == user && $0.bytes > 0 }
        let settled = own.filter(\.isSettled)
        let giving = settled.isEmpty ? own : settled
        let mean = giving.reduce(0) { $0 + $1.bytes } / Int64(giving.count)
        return giving.filter { $0.bytes >= mean }.min { $0.range.id < $1.range.id }
    }

    /// The groups that together make seven eighths of the noise, and those that are as noisy as the last of them.
    package static func noisiest(_ groups: [Int64: Int64]) -> Set<Int64> {
        let sorted = groups.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
        let noise = groups.values.reduce(0, +)
        let enough = noise - noise / 8
        var sum: Int64 = 0
        var least = Int64.max
        for group in sorted {
            guard least == .max || sum < enough || group.value == least else { break }
            sum += group.value
            least = group.value
        }
        return Set(sorted.filter { $0.value >= least }.map(\.key))
    }
}

import IssueProtocol

/// The suppressed records summed up by destination, application and limit. Only the largest sums are shown.
///
/// Older daemons list each group separately.
struct SuppressionSums {
    static let maxShown = 5

    /// The largest sums, in descending order.
    let largest: [Suppression]
    private let left: Int

    init(_ suppressions: [Suppression]) {
        var sums: [Suppression] = []
        var indices: [[String]: Int] = [:]
        for suppression in suppressions {
            // Without a number of groups, it is a single group from an older daemon. A newer daemon has already summed
            // them up by user and application, so its sums are kept apart.
            let key = [suppression.destination, suppression.app ?? "", suppression.reason.rawValue]
            guard suppression.groups == nil, let index = indices[key] else {
                if suppression.groups == nil { indices[key] = sums.count }
                sums.append(suppression)
                continue
            }
            sums[index].group = nil
            sums[index].groups = (sums[index].groups ?? 1) + 1
            sums[index].count = sums[index].count.clampedSum(suppression.count)
            sums[index].since = min(sums[index].since, suppression.since)
        }
        let sorted = sums.enumerated().sorted { ($1.element.count, $0.offset) < ($0.element.count, $1.offset) }
        largest = sorted.prefix(Self.maxShown).map(\.element)
        left = sums.count - largest.count
    }

    /// Returns the number of sums that are not among the largest.
    ///
    /// - Parameter unlisted: The number of sums that the daemon itself has omitted.
    func others(besides unlisted: Int) -> Int { left.clampedSum(max(0, unlisted)) }
}

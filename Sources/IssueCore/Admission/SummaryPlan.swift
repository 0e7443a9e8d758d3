import IssueProtocol

/// Which of the windows to be told get a summary of their own, and which are told together.
///
/// The loudest get their own; the rest is told in one for each application.
/// What does not even find a token for that waits for the next flush.
struct SummaryPlan: Equatable {
    private(set) var single: [WindowRow] = []
    /// Windows of one application each.
    private(set) var merged: [[WindowRow]] = []

    init(_ windows: [WindowRow], most: Int, tokens: Int64) {
        let sorted = windows.sorted(by: Self.isLouder)
        let room = Int(clamping: tokens)
        if sorted.count <= min(most, room) {
            single = sorted
            return
        }
        let accounts = Set(sorted.map(\.account)).count
        single = Array(sorted.prefix(max(0, min(most, room - accounts))))
        let rest = Dictionary(grouping: sorted.dropFirst(single.count), by: \.account).values
            .sorted { left, right in
                let (more, less) = (Self.total(left), Self.total(right))
                return more == less ? left[0].account < right[0].account : more > less
            }
        merged = Array(rest.prefix(max(0, room - single.count)))
    }

    private static func total(_ windows: [WindowRow]) -> Int64 {
        windows.reduce(0) { $0 + $1.suppressedCount }
    }

    private static func isLouder(_ left: WindowRow, _ right: WindowRow) -> Bool {
        if left.suppressedCount != right.suppressedCount { return left.suppressedCount > right.suppressedCount }
        if left.key.group != right.key.group { return left.key.group < right.key.group }
        return left.key.reason.rawValue < right.key.reason.rawValue
    }
}

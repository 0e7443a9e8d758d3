/// What admission goes on from after a restart.
package struct AdmissionState: Equatable, Sendable {
    package var buckets: [BucketRow]
    /// Oldest first, by the newest record that was judged; no more than the table holds.
    package var groups: [GroupRow]
    package var windows: [WindowRow]
    package var accountSequences: [Int64: Int64]

    package init(
        buckets: [BucketRow] = [], groups: [GroupRow] = [], windows: [WindowRow] = [],
        accountSequences: [Int64: Int64] = [:]
    ) {
        self.buckets = buckets
        self.groups = groups
        self.windows = windows
        self.accountSequences = accountSequences
    }

    /// The state after changes were stored on top of it.
    package mutating func apply(_ changes: AdmissionChanges) {
        let touched = Set(changes.buckets.map(\.key))
        buckets = buckets.filter { !touched.contains($0.key) } + changes.buckets
        let judged = Set(changes.groups.map(\.group))
        groups = (groups.filter { !judged.contains($0.group) } + changes.groups)
            .sorted { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
        let moved = Set(changes.windows.map(\.key)).union(changes.closedWindows)
        windows = windows.filter { !moved.contains($0.key) } + changes.windows
        accountSequences.merge(changes.accountSequences) { $1 }
    }
}

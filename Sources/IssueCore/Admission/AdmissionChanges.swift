/// What has to be stored for admission to go on where it is; written in the transaction that moves the cursor.
package struct AdmissionChanges: Equatable, Sendable {
    package var buckets: [BucketRow] = []
    package var groups: [GroupRow] = []
    package var windows: [WindowRow] = []
    package var closedWindows: [WindowRow.Key] = []
    /// The number of the last summary that spoke for several groups, by application.
    package var accountSequences: [Int64: Int64] = [:]

    package init() {}

    package var isEmpty: Bool {
        buckets.isEmpty && groups.isEmpty && windows.isEmpty && closedWindows.isEmpty && accountSequences.isEmpty
    }
}

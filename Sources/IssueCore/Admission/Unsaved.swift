/// What admission changed since its changes were last taken.
struct Unsaved: Sendable {
    var buckets: Set<BucketRow.Key> = []
    /// Each at most once: the group itself knows that it is here.
    var groups: [Int64] = []
    var windows: Set<WindowRow.Key> = []
    var closedWindows: Set<WindowRow.Key> = []
    var sequences: [Int64: Int64] = [:]
    /// Left the table before they were stored.
    var evictedGroups: [Int64: GroupRow] = [:]
    var evictedBuckets: [BucketRow.Key: BucketRow] = [:]

    mutating func evict(_ limit: SharedLimit, of account: Int64) {
        let changed = buckets.filter { $0.account == account }
        for row in limit.rows(account: account, roles: Set(changed.map(\.role))) { evictedBuckets[row.key] = row }
        buckets.subtract(changed)
    }

    mutating func takeEvictedBuckets(of account: Int64) -> [BucketRow] {
        let rows = evictedBuckets.filter { $0.key.account == account }
        for key in rows.keys {
            evictedBuckets[key] = nil
            // Still not stored.
            buckets.insert(key)
        }
        return Array(rows.values)
    }
}

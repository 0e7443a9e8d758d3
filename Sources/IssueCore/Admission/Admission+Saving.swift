import IssueProtocol

extension Admission {
    /// What changed since this was last asked; to be stored together with the cursor.
    package mutating func takeChanges() -> AdmissionChanges {
        var changes = AdmissionChanges()
        let (touched, closed) = (unsaved.buckets, unsaved.closedWindows)
        for (account, keys) in Dictionary(grouping: touched, by: \.account) {
            let roles = Set(keys.map(\.role))
            let limit = account.map { accounts.peek($0)?.buckets } ?? global
            changes.buckets += limit?.rows(account: account, roles: roles) ?? []
        }
        changes.buckets += unsaved.evictedBuckets.values
        changes.buckets.sort { Self.order($0.key) < Self.order($1.key) }

        for id in unsaved.groups {
            let row = groups.alter(id) { group -> GroupRow? in
                guard group.isChanged else { return nil }
                group.isChanged = false
                return Self.row(of: group, id: id)
            }
            if let row = row ?? nil { changes.groups.append(row) }
        }
        changes.groups += unsaved.evictedGroups.values
        changes.groups.sort { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }

        changes.windows = unsaved.windows.sorted { Self.order($0) < Self.order($1) }.compactMap { windows[$0] }
        changes.closedWindows = closed.sorted { Self.order($0) < Self.order($1) }
        changes.accountSequences = unsaved.sequences
        unsaved = Unsaved()
        return changes
    }

    private static func order(_ key: BucketRow.Key) -> (Int64, UInt8) {
        (key.account ?? .min, key.role.rawValue)
    }

    private static func order(_ key: WindowRow.Key) -> (Int64, String) {
        (key.group, key.reason.rawValue)
    }
}

internal import IssueWire

extension IssueMetadata {
    /// Sets a fact of the library's own.
    ///
    /// What the application says under that name is kept under another, and
    /// `repairs` says so: it must neither vanish nor be taken for ours.
    mutating func setOwn(_ key: Key, to value: Value) {
        if let theirs = self[key] {
            let kept = Key("metadata_\(key)")
            self[kept] = theirs
            let repair = Value("\(key) is a name of the library's: what the application said stands in \(kept)")
            let earlier = self[.repairs]?.json.asArray?.map { Value(json: $0) } ?? []
            self[.repairs] = Value(earlier + [repair])
        }
        self[key] = value
    }
}

extension IssueMetadata.Key {
    /// What had to be renamed, a sentence each.
    static let repairs: Self = "repairs"
}

internal import IssueWire

extension IssueRecord {
    /// The record in JSON, cut so that the daemon takes it.
    ///
    /// A daemon refuses a record above its limit whole; a shortened one is
    /// worth more than none.
    func json(atMost limit: Int) -> [UInt8] {
        let whole = json
        guard whole.count > limit else { return whole }
        var record = self
        var metadata: IssueMetadata = [.omittedBytes: .init(whole.count)]
        if let dropped = self.metadata?.member(IssueMetadata.Key.droppedBefore.rawValue) {
            metadata[.droppedBefore] = IssueMetadata.Value(json: dropped)
        }
        record.metadata = metadata.json
        // An escape may take six bytes for one.
        record.message = message.prefix(ofBytes: limit / 8)
        record.causes = []
        record.backtrace = []
        record.domain = domain?.prefix(ofBytes: 1024)
        return record.json
    }
}

extension String {
    /// As much of the beginning as fits, without half a character at its end.
    fileprivate func prefix(ofBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}

extension JSONValue {
    fileprivate func member(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }
}

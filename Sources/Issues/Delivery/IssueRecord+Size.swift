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
        // An escape may take six bytes for one.
        record.message = message.prefix(ofBytes: limit / 8)
        record.causes = []
        record.backtrace = []
        record.domain = domain?.prefix(ofBytes: 1024)
        let small = metadata?.smallest(ofBytes: limit / 8) ?? []
        record.metadata = .object(small)
        let omitted = JSONValue.integer(Int64(whole.count - record.json.count))
        record.metadata = .object(small + [.init(IssueMetadata.Key.omittedBytes.rawValue, omitted)])
        return record.json
    }
}

extension String {
    /// As much of the beginning as fits, without half a character at its end.
    fileprivate func prefix(ofBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return "\(self[..<end])…"
    }
}

extension JSONValue {
    /// As many of its members as fit into so many bytes, without the largest, in their order.
    fileprivate func smallest(ofBytes limit: Int) -> [Member] {
        guard case .object(let members) = self else { return [] }
        let sizes = members.map { JSONValue.object([$0]).json.count }
        var (left, chosen) = (limit, Set<Int>())
        for index in members.indices.sorted(by: { sizes[$0] < sizes[$1] }) {
            left -= sizes[index]
            guard left >= 0 else { break }
            chosen.insert(index)
        }
        return members.indices.filter { chosen.contains($0) }.map { members[$0] }
    }
}

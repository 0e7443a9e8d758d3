package import IssueProtocol

extension StoreReader {
    /// What a follower has not seen yet, and up to which row he has seen all then.
    package struct News: Sendable {
        package var records: [StoredRecord]
        package var seen: Int64
    }

    /// Records above a row, the oldest first.
    package func news(above row: Int64, _ filter: IssueFilter, limit: Int, viewer: Viewer) throws -> News {
        let page = try records(
            RecordQuery(filter: filter, isAscending: true, limit: limit, after: PageCursor(value: 0, row: row).text),
            viewer: viewer)
        let last = try page.next.map { try PageCursor($0).row }
        return News(records: page.records, seen: last ?? max(row, page.newest))
    }

    /// The newest row, behind which a new follower begins.
    package func newest() throws -> Int64 {
        try snapshot { try newestRow() }
    }
}

import IssueCore
import IssueProtocol
import IssueStore
import Testing

extension StoreReader {
    /// Returns all records that match a filter, read page by page.
    func allRecords(
        _ filter: IssueFilter = IssueFilter(), isAscending: Bool = true, pageSize: Int = 1000,
        pageTime: Duration? = nil, viewer: Viewer = .everything
    ) throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var after: String?
        repeat {
            let page = try self.records(
                .init(filter: filter, isAscending: isAscending, limit: pageSize, after: after, pageTime: pageTime),
                viewer: viewer)
            #expect(page.records.count <= pageSize)
            records += page.records
            after = page.next
        } while after != nil
        return records
    }
}

extension StoreReader.GroupQuery {
    static var all: Self { of(IssueFilter()) }

    static func of(
        _ filter: IssueFilter, order: ResultOrder = .newest, limit: Int = 1000, after: String? = nil,
        sparkline: Int? = nil, now: IssueTimestamp = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)
    ) -> Self {
        Self(filter: filter, order: order, limit: limit, after: after, sparkline: sparkline, now: now)
    }
}

import IssueCore
import IssueProtocol
import SQLiteKit
import Synchronization

/// What all records of one series share; one object, since a copy of it for each record would cost more than it says.
final class KnownSeries: LineMemory {
    let description: SeriesDescription
    let app: Application?
    let source: SourceLocation?
    let group: Int64
    /// As it is shown.
    let groupID: String
    let fingerprint: String
    let firstOfGroup: Int64
    let account: Int64
    let accountName: String
    private let kept = Mutex(LineMemo())

    static let sql: StaticString = """
        SELECT series.key, groups.id, groups.key, groups.fingerprint, groups.first_record, accounts.id, accounts.app
        FROM series JOIN groups ON groups.id = series."group" JOIN accounts ON accounts.id = series.account
        WHERE series.id = ?1
        """

    /// What a destination has made of it.
    var memo: LineMemo {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }

    func complete(_ record: inout IssueRecord) {
        record.severity = description.severity
        record.domain = description.domain
        record.code = description.code
        record.source = source
        record.app = app
        record.fingerprint = description.fingerprint
        record.reportable = description.isReportable
    }

    /// One of which no more may be known than what its records have in common.
    init(
        _ description: SeriesDescription, group: Int64 = 0, groupID: String = "", fingerprint: String = "",
        firstOfGroup: Int64 = 0, account: Int64 = 0, accountName: String = ""
    ) {
        self.description = description
        app = description.app == Application() ? nil : description.app
        source = description.source == SourceLocation() ? nil : description.source
        self.group = group
        self.groupID = groupID
        self.fingerprint = fingerprint
        self.firstOfGroup = firstOfGroup
        self.account = account
        self.accountName = accountName
    }

    /// Reads a row of the query above; nothing where it is damaged.
    convenience init?(_ row: borrowing Row) {
        guard let description = SeriesKey.decode(row.bytes(0)) else { return nil }
        self.init(
            description, group: row.int64(1), groupID: GroupID.text(key: row.int64(2)), fingerprint: row.text(3),
            firstOfGroup: row.int64(4), account: row.int64(5), accountName: row.text(6))
    }
}

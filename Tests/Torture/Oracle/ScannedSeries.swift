import IssueProtocol
import SQLiteKit

/// A row of the `series` table.
struct ScannedSeries {
    let id: Int64
    let account: Int64
    let uid: Int64
    let severity: Int64
    let app: String?
    let version: String?
    let domain: String?
    let code: Int64?
    let template: [UInt8]

    static let query = """
        SELECT series.id, account, uid, severity, series.app, version, domain, code, template
        FROM series JOIN accounts ON accounts.id = series.account WHERE series.id > ?1
        """

    init(_ row: borrowing Row) {
        id = row.int64(0)
        account = row.int64(1)
        uid = row.int64(2)
        severity = row.int64(3)
        app = row.optionalText(4)
        version = row.optionalText(5)
        domain = row.optionalText(6)
        code = row.optionalInt64(7)
        template = row.bytes(8)
    }

    /// Returns the difference between a record and its stored row, or nil if they agree.
    func difference(of row: ScannedRow, from record: IssueRecord) -> String? {
        if row.message != record.message { return "the message is “\(row.message)”, not “\(record.message)”" }
        if severity != record.severity.map({ Int64($0.rank) }) { return "the severity is \(severity)" }
        if app != record.app?.name || version != record.app?.version { return "the application differs" }
        if domain != record.domain || code != record.code { return "domain or code differ" }
        if row.count != record.count ?? 1 { return "the count is \(row.count)" }
        let metadata = row.metadata.flatMap { try? JSONValue(json: $0) }
        if metadata != record.metadata { return "the metadata differ" }
        if row.context != record.context { return "the context is \(row.context)" }
        return nil
    }
}

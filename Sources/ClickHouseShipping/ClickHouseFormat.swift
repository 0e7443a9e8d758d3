package import HTTPShipping
import HTTPTransfer
package import IssueCore

/// Inserts records into a table of ClickHouse, over HTTP.
package struct ClickHouseFormat: StoreFormat {
    package static var kind: String { "clickhouse" }
    package static var section: String { "ClickHouse" }
    package static var options: [StoreOption] {
        [
            .user, StoreOption("Database", default: "issued", "Its database."),
            StoreOption("Table", default: "records", "Its table."),
        ]
    }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    private let user: String
    private let query: String
    private let payload = ClickHousePayload()

    package init(_ http: HTTPSettings, _ option: (String) -> String?) {
        self.http = http
        user = option("User") ?? "default"
        let table = ["Database", "Table"].map { Self.quoted(option($0) ?? "") }.joined(separator: ".")
        query = "query=\(PercentEncoding.encode("INSERT INTO \(table) FORMAT JSONEachRow"))"
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    package func post(token: ShippingToken?) -> HTTPPost {
        var headers: HTTPHeaders = ["X-ClickHouse-User": user]
        if let token { headers.append(name: "X-ClickHouse-Key", value: token.text) }
        return HTTPPost(type: "application/octet-stream", query: query, headers: headers)
    }

    private static func quoted(_ name: String) -> String {
        "`\(name.replacing("\\", with: "\\\\").replacing("`", with: "\\`"))`"
    }
}

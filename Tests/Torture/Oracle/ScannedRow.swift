import IssueProtocol
import SQLiteKit

/// A record of the record log, read without the code that wrote it: see `ScannedBlock`.
struct ScannedRow {
    let id: Int64
    let series: Int64
    let receivedAt: Int64
    let count: Int64
    let message: String
    let metadata: String?
    let context: IssueContext

    static let columns = "id, series, received_at, count, message, typeof(message), metadata, details"

    init(_ row: borrowing Row, template: (Int64) -> [UInt8]?) {
        id = row.int64(0)
        series = row.int64(1)
        receivedAt = row.int64(2)
        count = row.int64(3)
        metadata = row.optionalText(6)
        let details = row.optionalText(7).flatMap { try? JSONValue(json: $0) } ?? .null
        // Records of an overflow series, or from a database that was moved aside, have the context one level deeper.
        context = IssueContext(details["more"] ?? details)
        let template = template(series) ?? []
        switch row.text(5) {
        case "text": message = row.text(4)
        case "null": message = String(decoding: template, as: UTF8.self)
        default: message = Self.fill(template, with: row.bytes(4))
        }
    }

    /// Replaces the control characters 1 to 7 in the template with the parts, which are separated by 0x1F.
    private static func fill(_ template: [UInt8], with parts: [UInt8]) -> String {
        var parts = parts.split(separator: 0x1F, omittingEmptySubsequences: false)[...]
        var message: [UInt8] = []
        for byte in template {
            if (1...7).contains(byte) {
                message += parts.popFirst() ?? []
            } else {
                message.append(byte)
            }
        }
        return String(decoding: message, as: UTF8.self)
    }
}

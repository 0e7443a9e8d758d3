package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Inserts records into a ClickHouse table over HTTP.
package struct ClickHouseFormat: HTTPFormat {
    package static var kind: String { "clickhouse" }
    package static var section: String { "ClickHouse" }
    package static var options: [DestinationOption] {
        [
            .user, DestinationOption("Database", default: "issued", "The database."),
            DestinationOption("Table", default: "records", "The table."),
        ]
    }
    package static var expectedURL: String {
        "an address such as https://clickhouse.example.com:8443, without a “?”; a user belongs in User=, and the "
            + "password in the file that Credential= names"
    }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    private let user: String
    private let table: String

    package init(_ http: HTTPSettings, _ options: [String: String]) {
        self.http = http
        user = options["User"] ?? "default"
        table = ["Database", "Table"].map { Self.quoted(options[$0] ?? "") }.joined(separator: ".")
    }

    package func complete(_ request: inout HTTPRequest, token: ShippingToken?) {
        complete(&request, insertingInto: table, token: token)
    }

    private func complete(_ request: inout HTTPRequest, insertingInto target: String, token: ShippingToken?) {
        request.url += "?query=\(PercentEncoding.encode("INSERT INTO \(target) FORMAT JSONEachRow"))"
        request.headers = ["Content-Type": "application/octet-stream", "X-ClickHouse-User": user]
        if let token { request.headers.append(name: "X-ClickHouse-Key", value: token.text) }
    }

    /// Completes a request that inserts no rows but names all columns, so that ClickHouse checks the user, the table
    /// and the schema.
    package func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?) {
        let columns = Self.columns.map { Self.quoted($0) }.joined(separator: ", ")
        complete(&request, insertingInto: "\(table) (\(columns))", token: token)
    }

    package static func acceptsProbe(_ response: HTTPResponse) -> Bool {
        // Exception 108: there is no data to insert.
        if let exception = exception(of: response) { return exception == 108 }
        return (200..<300).contains(response.status) && isOfClickHouse(response)
    }

    /// All columns that rows may have.
    static let columns =
        [
            "event_kind", "event_id", "time", "time_ms", "received_ms", "app", "uid", "host", "severity", "message",
            "fingerprint", "group_id", "domain", "code", "file", "line", "function", "unit", "command", "backtrace",
            "causes", "metadata", "count", "occurrences", "suppressed_before", "suppression_reason",
            "suppressed_count", "forwarded_count", "summary_seq", "distinct_groups_suppressed", "still_suppressing",
            "sample_event_ids",
        ] + JSONMembers.names(of: Application.self).map(\.name).filter { $0 != "name" }
        + IssueContext.Field.allCases.map(\.columnName)

    private static func quoted(_ name: String) -> String {
        "`\(name.replacing("\\", with: "\\\\").replacing("`", with: "\\`"))`"
    }
}

extension ClickHouseFormat {
    /// Classifies the response by ClickHouse's exception code. Returns nil if the status is enough.
    ///
    /// The code is in a header or, before version 19, only in the text (`Code: 27, …`). The status is not enough,
    /// because most exceptions have the status 500. An insert is a single block, so a rejected insert stores no
    /// rows. Source: `ErrorCodes.cpp` of ClickHouse.
    package static func result(of response: HTTPResponse, lines: Int) -> DeliveryResult? {
        let status = response.status
        let isSuccess = (200..<300).contains(status)
        guard let exception = exception(of: response) else {
            guard isSuccess, !isOfClickHouse(response) else { return nil }
            // Any web server may return this status, but only ClickHouse sends its headers.
            return DeliveryResult(.paused(.notFound), ResponseSummary("\(status): not a response from ClickHouse"))
        }
        // A response with an exception reports a failure even if its status does not.
        let verdict = verdict(of: exception) ?? DeliveryVerdict(status: isSuccess ? 500 : status)
        return DeliveryResult(verdict, ResponseSummary("\(status): ClickHouse exception \(exception)"))
    }

    /// Returns `true` if the response has a header of ClickHouse. Version 18.16 sends one with the server's name;
    /// later versions also send the query id and statistics.
    private static func isOfClickHouse(_ response: HTTPResponse) -> Bool {
        response.headers.fields.contains { $0.name.lowercased().hasPrefix("x-clickhouse-") }
    }

    private static func verdict(of exception: Int) -> DeliveryVerdict? {
        switch exception {
        // A row that cannot be parsed, a value that does not fit its column, an unknown field.
        case 6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349: .partial(PartialAnswer(successful: 0))
        // Authentication failures: an unknown user, a wrong or missing password.
        case 192, 193, 194, 516: .paused(.unauthorised)
        case 291, 497: .paused(.forbidden)
        // An unknown table, database or column.
        case 10, 16, 60, 81: .paused(.notFound)
        // Read-only.
        case 164, 242: .paused(.methodNotAllowed)
        // Too many concurrent queries or parts.
        case 202, 252: .again(.tooManyRequests, retryAfter: nil)
        // Out of memory, out of disk space, timed out.
        case 159, 160, 241, 243: .again(.overloaded, retryAfter: nil)
        default: nil
        }
    }

    /// Returns the number of the exception; nil if the response contains none from 1 to 9999.
    private static func exception(of response: HTTPResponse) -> Int? {
        var digits = response.headers["X-ClickHouse-Exception-Code"].map { Array($0.utf8) }
        let beginning = Array("Code: ".utf8)
        // ClickHouse may have sent a successful status before the exception. The body of a successful insert is empty.
        let isSuccess = (200..<300).contains(response.status) && isOfClickHouse(response)
        if digits == nil, isSuccess || response.status >= 400, let start = response.body.firstRange(of: beginning),
            isSuccess || start.lowerBound == 0
        {
            digits = Array(response.body[start.upperBound...].prefix { (0x30...0x39).contains($0) })
        }
        guard let digits, (1...4).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        let code = Int(String(decoding: digits, as: UTF8.self))
        return code == 0 ? nil : code
    }
}

extension ClickHouseFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "ClickHouse rejected the user or the password: check User= and the credential. \(PauseReason.rereading)"
        case .forbidden:
            "ClickHouse denies access: allow the user of User= to insert into the table. If the answer names a proxy, "
                + "check the proxy."
        case .notFound:
            "The database, table or column does not exist, or this is not ClickHouse: run "
                + "config/clickhouse/schema.sql or check Database=, Table= and URL=."
        case .methodNotAllowed:
            "The table or the user is read-only, or URL= is wrong: allow the user to insert, or check URL=."
        case .manyLinesRefused:
            "ClickHouse rejects most rows: see its log, and compare the table with config/clickhouse/schema.sql."
        case .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// The lines: rows in the format `JSONEachRow` for the table in `config/clickhouse/schema.sql`.
extension ClickHouseFormat {
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        let stored = outbound.stored
        let record = stored.record
        var members = Self.times(stored.plausibleTime.time, received: stored.receivedAt)
        members += RecordColumns.members(of: outbound).map(Self.column)
        members += RecordColumns.context(of: record, named: \.columnName)
        if !record.causes.isEmpty { members.put("causes", Self.text(RecordColumns.causes(of: record))) }
        if let metadata = outbound.metadata, !metadata.isNull { members.put("metadata", Self.text(metadata)) }
        return JSONValue.object(members).json
    }

    /// Returns the line of a summary.
    ///
    /// Its times, except the end of its window, are in `metadata`, so that a table of an earlier `schema.sql` accepts
    /// the line.
    package func line(of summary: OutboundSummary) -> [UInt8] {
        let times = JSONValue.object(RecordColumns.times(of: summary))
        return JSONValue.object(
            Self.times(summary.windowEnd, received: summary.windowEnd)
                + RecordColumns.members(of: summary).map(Self.column)
                + [.init("metadata", .string(Self.text(times)))]
        ).json
    }

    /// Returns the line of a correction.
    ///
    /// The fields that only corrections have are in `metadata`, so that a table of an earlier `schema.sql` accepts the
    /// line. The view `corrections` shows them as columns.
    package func line(of correction: OutboundCorrection) -> [UInt8] {
        let time = correction.correction.timestamp
        let details = JSONValue.object(RecordColumns.details(of: correction))
        return JSONValue.object(
            Self.times(time, received: time) + RecordColumns.members(of: correction)
                + [.init("metadata", .string(Self.text(details)))]
        ).json
    }

    /// Returns the columns of the time and of the time of receipt. The time has two columns: one in milliseconds and,
    /// for sorting and selecting, one in whole seconds.
    private static func times(_ time: IssueTimestamp, received: IssueTimestamp) -> [JSONValue.Member] {
        // The column `time` stores an unsigned 32-bit integer.
        let seconds = min(max(time.millisecondsSince1970 / 1000, 0), Int64(UInt32.max))
        return [
            .init("time", .integer(seconds)), .init("time_ms", .integer(time.millisecondsSince1970)),
            .init("received_ms", .integer(received.millisecondsSince1970)),
        ]
    }

    /// Returns the member, with a Boolean value converted to 0 or 1, which all versions of ClickHouse accept.
    private static func column(_ member: JSONValue.Member) -> JSONValue.Member {
        guard let bool = member.value.asBool else { return member }
        return .init(member.key, .integer(bool ? 1 : 0))
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.json, as: UTF8.self) }
}

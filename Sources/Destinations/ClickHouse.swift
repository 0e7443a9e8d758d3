package import HTTPTransfer
package import IssueCore
import IssueProtocol

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

extension ClickHouseFormat {
    /// An exception has a number, in a header or, before version 19, only in the text (`Code: 27, …`); the status does
    /// not tell much, as old versions answer each with 500. Source: `ErrorCodes.cpp` of ClickHouse. An insert is one
    /// block, so of a refused one nothing is taken.
    package static func reading(
        of response: HTTPResponse, to lines: RequestLines, by reader: ResponseClassifier
    ) -> ClassifiedResponse? {
        guard let exception = exception(of: response), let verdict = verdict(of: exception) else {
            guard (200..<300).contains(response.status), !isOfClickHouse(response) else { return nil }
            // Any web server answers so; the table has its own say about what comes twice.
            return ClassifiedResponse(
                .paused(.notFound), reader.text(of: response, saying: "not an answer of ClickHouse, which names itself")
            )
        }
        return ClassifiedResponse(verdict, reader.text(of: response))
    }

    /// Of 18.16 it is the server's name, of later versions the query's number and sums as well.
    private static func isOfClickHouse(_ response: HTTPResponse) -> Bool {
        response.headers.fields.contains { $0.name.lowercased().hasPrefix("x-clickhouse-") }
    }

    private static func verdict(of exception: Int) -> DeliveryVerdict? {
        switch exception {
        // A row that can't be parsed, a value that does not fit its column, an unknown field.
        case 6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349: .partial(PartialAnswer(successful: 0))
        // Authentication: unknown user, wrong password, required password.
        case 192, 193, 194, 516: .paused(.unauthorised)
        case 291, 497: .paused(.forbidden)
        // Unknown table, unknown database, a column that the table lacks.
        case 10, 16, 60, 81: .paused(.notFound)
        // Read only.
        case 164, 242: .paused(.methodNotAllowed)
        // Too many queries at once, too many parts: it asks for less.
        case 202, 252: .again(.tooManyRequests, retryAfter: nil)
        // Out of memory, out of disk, out of time.
        case 159, 160, 241, 243: .again(.overloaded, retryAfter: nil)
        default: nil
        }
    }

    private static func exception(of response: HTTPResponse) -> Int? {
        if let text = response.headers["X-ClickHouse-Exception-Code"] {
            return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
        }
        let beginning = Array("Code: ".utf8)
        guard response.status >= 400, response.body.starts(with: beginning) else { return nil }
        let digits = response.body.dropFirst(beginning.count).prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}

extension ClickHouseFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "ClickHouse does not accept the user or the password: check User= and the credential. A file is read again; "
                + "systemd's needs a restart."
        case .forbidden: "ClickHouse refuses this user: let the one of User= insert into the table."
        case .notFound:
            "There is no such database, table or column, or no ClickHouse: run config/clickhouse/schema.sql, or check "
                + "Database=, Table= and URL=."
        case .methodNotAllowed: "Nothing can be written there: the table or the user may only read, or check URL=."
        case .manyLinesRefused:
            "ClickHouse refuses most rows: look at its answer. Is the table as config/clickhouse/schema.sql makes it?"
        case .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// Makes rows for the table in `config/clickhouse/schema.sql`, as `JSONEachRow` wants them.
package struct ClickHousePayload: Sendable {
    package init() {}

    package func line(of outbound: OutboundRecord) -> [UInt8] {
        let stored = outbound.stored
        let record = stored.record
        var members = Self.times(stored.believedTime.time, received: stored.receivedAt)
        members += RecordFields.members(of: outbound).map(Self.column)
        if !record.causes.isEmpty {
            members.append(.init("causes", .string(Self.text(RecordFields.causes(of: record)))))
        }
        if let metadata = outbound.metadata, !metadata.isNull {
            members.append(.init("metadata", .string(Self.text(metadata))))
        }
        return JSONValue.object(members).json
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let members = Self.times(summary.windowEnd, received: summary.windowEnd)
        return JSONValue.object(members + RecordFields.members(of: summary).map(Self.column)).json
    }

    /// Whole seconds for what sorts and selects, milliseconds beside them.
    private static func times(_ time: Timestamp, received: Timestamp) -> [JSONValue.Member] {
        // The type of the column ends where 32 bits do.
        let seconds = min(max(time.milliseconds / 1000, 0), Int64(UInt32.max))
        return [
            .init("time", .integer(seconds)), .init("time_ms", .integer(time.milliseconds)),
            .init("received_ms", .integer(received.milliseconds)),
        ]
    }

    /// A Boolean is a small number there, in any version.
    private static func column(_ member: JSONValue.Member) -> JSONValue.Member {
        guard let bool = member.value.asBool else { return member }
        return .init(member.key, .integer(bool ? 1 : 0))
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.json, as: UTF8.self) }
}

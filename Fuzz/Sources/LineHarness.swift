import Destinations
import IssueCore
import IssueProtocol

/// The line of any accepted record is one that Logz.io accepts.
///
/// Input: the record.
enum LineHarness {
    static func run(_ input: Span<UInt8>) {
        guard let record = try? IssueRecord(json: input) else { return }
        let outbound = outbound(record)
        let payload = LogzFormat(HTTPSettings(address: HTTPAddress(.us)))
        var types = FieldTypes()
        let line = payload.line(of: outbound, types: &types)
        check(line)
        let value = value(of: line)
        require(value["message"] == .string(record.message), "The message is \(String(describing: value["message"]))")
        require(value["event_id"]?.asString == outbound.stored.id, "The line has the wrong id")

        // The field types are fixed now, and the same record must fit them again.
        var again = types
        check(payload.line(of: outbound, types: &again))
        require(again == types, "The same record changed the field types")
        var fresh = FieldTypes()
        require(payload.line(of: outbound, types: &fresh) == line, "The same record has two different lines")

        if let cut = payload.cut(line) {
            check(cut)
            require(cut.count < line.count, "A shortened line is not shorter")
            require(
                self.value(of: cut)["event_id"]?.asString == outbound.stored.id, "A shortened line has the wrong id")
        }
    }

    private static func outbound(_ record: IssueRecord) -> OutboundRecord {
        let received = IssueTimestamp(millisecondsSince1970: 1_795_255_200_123)
        let sender = Sender(uid: 1001, gid: 1001, pid: 4711, command: record.app?.network, unit: record.domain)
        return OutboundRecord(
            stored: StoredRecord(
                id: "0123456789ab-1", group: "g", receivedAt: received, sender: sender,
                repairs: record.causes.compactMap(\.domain), record: record),
            app: record.app?.name ?? "shop", fingerprint: record.fingerprint ?? "f", host: record.domain ?? "web-3",
            suppressedBefore: record.code ?? 0, occurrences: record.count ?? 1)
    }

    private static func value(of line: [UInt8]) -> JSONValue {
        do throws(PlainJSON.Failure) {
            return try PlainJSON.value(line).value
        } catch {
            fatalError("A line is not JSON: \(line.asText)")
        }
    }

    private static func check(_ line: [UInt8]) {
        let value = value(of: line)
        guard let members = value.asObject else { fatalError("A line is not an object: \(line.asText)") }
        require(!line.contains { $0 < 0x20 }, "A line has a control character: \(line.asText)")
        require(value.json == line, "A line is not minified: \(line.asText)")
        require(line.count < 500_000, "A line has \(line.count) bytes")
        require(Set(members.map(\.key)).count == members.count, "A line has a field twice: \(line.asText)")
        require(fields(in: value) <= 1000, "A line has more than 1000 fields")
        require(depth(of: value) <= 20, "A line is nested more than 20 levels deep")
    }

    private static func fields(in value: JSONValue) -> Int {
        switch value {
        case .object(let members): members.reduce(0) { $0 + 1 + fields(in: $1.value) }
        case .array(let elements): elements.reduce(0) { $0 + fields(in: $1) }
        case .null, .bool, .integer, .number, .string: 0
        }
    }

    private static func depth(of value: JSONValue) -> Int {
        switch value {
        case .object(let members): 1 + (members.map { depth(of: $0.value) }.max() ?? 0)
        case .array(let elements): 1 + (elements.map { depth(of: $0) }.max() ?? 0)
        case .null, .bool, .integer, .number, .string: 0
        }
    }
}

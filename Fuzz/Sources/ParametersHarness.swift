import IssueProtocol

/// The parameters of calls and replies are unchanged after reading, writing and reading them again.
///
/// Input: a letter that selects the type, and its JSON.
enum ParametersHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let json = input.extracting(1..<input.count)
        switch input[0] {
        case UInt8(ascii: "f"): check(IssueFilter.self, json)
        case UInt8(ascii: "l"): check(ListParameters.self, json)
        case UInt8(ascii: "r"): check(RecordsParameters.self, json)
        case UInt8(ascii: "s"): check(IDParameters.self, json)
        case UInt8(ascii: "a"): check(AwaitParameters.self, json)
        case UInt8(ascii: "u"): check(FlushParameters.self, json)
        case UInt8(ascii: "t"): check(SetStateParameters.self, json)
        case UInt8(ascii: "h"): check(HistogramParameters.self, json)
        case UInt8(ascii: "d"): check(DeployParameters.self, json)
        case UInt8(ascii: "y"): check(DeploymentsReply.self, json)
        case UInt8(ascii: "i"): check(InterfaceDescriptionParameters.self, json)
        case UInt8(ascii: "p"): check(ReportParameters.self, json)
        case UInt8(ascii: "L"): check(ListReply.self, json)
        case UInt8(ascii: "R"): check(RecordsReply.self, json)
        case UInt8(ascii: "S"): check(IssueDetails.self, json)
        case UInt8(ascii: "A"): check(AwaitReply.self, json)
        case UInt8(ascii: "P"): check(ReportReply.self, json)
        case UInt8(ascii: "H"): check(HistogramReply.self, json)
        case UInt8(ascii: "D"): check(DaemonStatus.self, json)
        default: return
        }
    }

    private static func check<Value: JSONCodable & Equatable>(_ type: Value.Type, _ json: Span<UInt8>) {
        let value: Value
        do throws(FieldError) {
            value = try Value(json: json)
        } catch {
            require(!error.reason.isEmpty, "A value was refused without a reason")
            let refusal = CollectorError(refusing: error)
            require(CollectorError(refusal.reply) == refusal, "\(refusal) has changed in its reply")
            return
        }
        require((try? PlainJSON.value(json.array())) != nil, "\(Value.self) was read from invalid JSON")
        let written = value.json
        do throws(FieldError) {
            let again = try Value(json: written)
            require(again == value, "\(value) became \(again)")
            require(again.json == written, "The same value is written in two ways: \(written.asText)")
        } catch {
            fatalError("\(written.asText) was written and can't be read: \(error)")
        }
    }
}

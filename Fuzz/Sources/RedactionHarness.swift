import IssueCore
import IssueProtocol

/// A message and its redacted form have the same template, and redacted metadata is still JSON.
///
/// Input: a message. The harness also uses it as a key and as values of metadata. All rules are enabled, with two
/// configured names of secrets.
enum RedactionHarness {
    private static let settings: RedactionSettings = {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .mask }
        settings.keys = ["badge", "x_pin"]
        settings.plainKeys = ["push_token"]
        return settings
    }()
    private static let limits: RecordLimits = {
        var limits = RecordLimits()
        limits.recordBytes = 1 << 26
        limits.attributeBytes = limits.recordBytes
        return limits
    }()

    private struct Stored: Equatable {
        var message: [UInt8]
        var template: [UInt8]
    }

    static func run(_ input: Span<UInt8>) {
        let message = input.array(from: 0)
        guard let text = String(validating: message, as: UTF8.self) else { return }
        let json = String(decoding: JSONValue.string(text).json, as: UTF8.self)
        let raw = store("{\"message\":\(json),\"metadata\":{\(json):\(json),\"a\":[\(json)]}}")
        guard let raw else { return }
        let title = String(decoding: raw.message, as: UTF8.self)
        let again = store("{\"message\":\(String(decoding: JSONValue.string(title).json, as: UTF8.self))}")
        // A mark can turn the text around it into a value, which is then redacted, too. So the templates are compared
        // only if redacting the message again does not change it.
        if let again, again.message == raw.message {
            require(again.template == raw.template, "\(message.asText) has another template as \(title)")
        }
    }

    private static func store(_ json: String) -> Stored? {
        let bytes = Array(json.utf8)
        var decoder = RecordDecoder(limits: limits, seed: 1, redactor: Redactor(settings))
        var batch = RecordBatch()
        var scanner = JSONScanner(bytes.span, maximumDepth: 32, maximumKeys: 256)
        do throws(JSONError) {
            guard try decoder.decode(&scanner, into: &batch) == nil else { return nil }
        } catch {
            return nil
        }
        guard let record = batch.records.first,
            let series = SeriesKey.decode(batch.seriesKey(of: record))
        else { return nil }
        let stored = batch.bytes[record.message.lower..<record.message.upper]
        if !record.metadata.isEmpty {
            require((try? JSONValue(json: batch.string(record.metadata))) != nil, "Redacted metadata is not JSON")
        }
        let message =
            record.messageForm == .whole
            ? stored : MessageTemplate.messageBytes(template: series.template, parts: stored)
        return Stored(message: message, template: series.template)
    }
}

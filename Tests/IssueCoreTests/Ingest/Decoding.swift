import IssueCore
import IssueProtocol

/// The result of decoding several records.
struct Decoding {
    var batch = RecordBatch()
    var rejections: [RecordRejection?] = []
    var redactions = RedactionCounts()

    /// Decodes a JSON array of records.
    init(_ json: String, limits: RecordLimits = RecordLimits(), redactor: Redactor = Redactor()) throws(JSONError) {
        try self.init(bytes: Array(json.utf8), limits: limits, redactor: redactor)
    }

    init(
        bytes: [UInt8], limits: RecordLimits = RecordLimits(), redactor: Redactor = Redactor()
    ) throws(JSONError) {
        var decoder = RecordDecoder(limits: limits, seed: 1, redactor: redactor)
        var scanner = JSONScanner(bytes.span, maximumDepth: limits.depth, maximumKeys: limits.keys)
        try scanner.openArray()
        while try scanner.nextElement() {
            rejections.append(try decoder.decode(&scanner, into: &batch))
        }
        try scanner.end()
        redactions = decoder.takeRedactionCounts() ?? RedactionCounts()
    }

    /// Returns the record at an index in the form in which the store returns it; nil if its series key is invalid.
    func record(_ index: Int) -> IssueRecord? {
        let decoded = batch.records[index]
        guard let series = SeriesKey.decode(batch.seriesKey(of: decoded)) else { return nil }
        let message =
            switch decoded.messageForm {
            case .whole: batch.string(decoded.message)
            case .template, .parts: MessageTemplate.message(template: series.template, parts: bytes(decoded.message))
            }
        var record = IssueRecord(
            message: message, severity: series.severity, domain: series.domain, code: series.code,
            count: decoded.count, source: series.source, app: series.app, fingerprint: series.fingerprint,
            reportable: series.isReportable)
        record.occurredAt = Self.time(decoded.occurredAt)
        record.firstOccurredAt = Self.time(decoded.firstOccurredAt)
        if !decoded.metadata.isEmpty { record.metadata = try? JSONValue(json: batch.string(decoded.metadata)) }
        if !decoded.details.isEmpty, let details = try? JSONValue(json: batch.string(decoded.details)) {
            record.setDetails(details)
        }
        return record
    }

    func series(_ index: Int) -> SeriesDescription? {
        SeriesKey.decode(batch.seriesKey(of: batch.records[index]))
    }

    private func bytes(_ range: ByteRange) -> [UInt8] { batch.bytes[range.lower..<range.upper] }

    private static func time(_ milliseconds: Int64) -> IssueTimestamp? {
        milliseconds == DecodedRecord.absent ? nil : IssueTimestamp(millisecondsSince1970: milliseconds)
    }
}

extension IssueRecord {
    /// Returns the record with the defaults that the daemon fills in for absent fields.
    var withDefaults: IssueRecord {
        var record = self
        record.severity = severity ?? .error
        record.count = count ?? 1
        record.source = source ?? SourceLocation()
        record.app = app ?? Application()
        record.reportable = reportable ?? true
        record.context = IssueContext()
        for (field, id) in context.values { record.context[field] = field.normalized(id) }
        // The daemon stores these as the series' template and the message's parts.
        record.template = nil
        record.parts = []
        return record
    }
}

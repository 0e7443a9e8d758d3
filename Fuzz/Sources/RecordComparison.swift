import IssueCore
import IssueProtocol

/// Compares a decoded record with the same record as an `IssueRecord`.
struct RecordComparison {
    private let decoded: DecodedRecord
    private let batch: RecordBatch
    private let start: Int
    private let end: Int

    init(_ decoded: DecodedRecord, in batch: RecordBatch, from start: Int, to end: Int) {
        self.decoded = decoded
        self.batch = batch
        self.start = start
        self.end = end
    }

    func check(against record: IssueRecord) {
        checkRanges()
        checkNumbers(record)
        checkSeries(record)
        checkMessage(record)
        checkMetadata(record)
        checkDetails(record)
    }

    private func bytes(_ range: ByteRange) -> [UInt8] { batch.bytes[range.lower..<range.upper] }

    /// The parts of a record follow each other without a gap.
    private func checkRanges() {
        var offset = start
        let parts = [decoded.message, decoded.metadata, decoded.details]
        for part in parts where part != .empty {
            require(part.lower == offset, "A part of a record begins at \(part.lower) instead of \(offset)")
            offset = part.upper
        }
        require(offset == end, "The parts of a record end at \(offset) instead of \(end)")
    }

    private func checkNumbers(_ record: IssueRecord) {
        let occurredAt = record.occurredAt?.millisecondsSince1970 ?? DecodedRecord.absent
        let firstOccurredAt = record.firstOccurredAt?.millisecondsSince1970 ?? DecodedRecord.absent
        require(decoded.occurredAt == occurredAt, "occurred_at is \(decoded.occurredAt) instead of \(occurredAt)")
        require(
            decoded.firstOccurredAt == firstOccurredAt,
            "first_occurred_at is \(decoded.firstOccurredAt) instead of \(firstOccurredAt)")
        require(decoded.count == record.count ?? 1, "count is \(decoded.count)")
        require((1...1_000_000_000).contains(decoded.count), "count is \(decoded.count)")
        require(decoded.severity == record.severity ?? .error, "severity is \(decoded.severity)")
        require(decoded.isReportable == record.reportable ?? true, "reportable is \(decoded.isReportable)")
    }

    private func checkSeries(_ record: IssueRecord) {
        let key = batch.seriesKey(of: decoded)
        guard let series = SeriesKey.decode(key) else { fatalError("The key of the series can't be decoded") }
        var expected = SeriesDescription()
        expected.severity = record.severity ?? .error
        expected.isReportable = record.reportable ?? true
        expected.app = record.app ?? Application()
        expected.domain = record.domain
        expected.code = record.code
        expected.source = record.source ?? SourceLocation()
        expected.fingerprint = record.fingerprint
        expected.template =
            TemplateHarness.cut(Array(record.message.utf8), limit: RecordHarness.limits.templateBytes).template
        // The record's own template counts if it agrees with the message, which is restored and compared below.
        if record.template != nil { expected.template = series.template }
        require(series == expected, "The series is \(series) instead of \(expected)")
        require(SeriesKey.encode(series) == key, "The same series has two keys")
    }

    private func checkMessage(_ record: IssueRecord) {
        let text = bytes(decoded.message)
        guard let template = SeriesKey.decode(batch.seriesKey(of: decoded))?.template else { return }
        let message =
            switch decoded.messageForm {
            case .template, .parts: MessageTemplate.message(template: template, parts: text)
            case .whole: text.asText
            }
        require(message == record.message, "The restored message is \(message)")
        if decoded.messageForm == .template { require(text.isEmpty, "A complete template has parts") }
    }

    private func checkMetadata(_ record: IssueRecord) {
        let json = bytes(decoded.metadata)
        guard let metadata = record.metadata else { return require(json.isEmpty, "A record without metadata has some") }
        require(
            (try? JSONValue(json: json)) == metadata,
            "The stored metadata is \(json.asText)")
    }

    /// The stored causes, backtrace and context can be read, and are those of the record.
    private func checkDetails(_ record: IssueRecord) {
        let json = bytes(decoded.details)
        guard !json.isEmpty else {
            return require(
                record.causes.isEmpty && record.backtrace.isEmpty && record.context.isEmpty,
                "Causes, backtrace or context are lost")
        }
        var carrier = Array(#"{"message":"","#.utf8)
        carrier += json.dropFirst()
        do throws(FieldError) {
            let read = try IssueRecord(json: carrier)
            require(read.causes == record.causes, "The causes are \(read.causes) instead of \(record.causes)")
            require(read.backtrace == record.backtrace, "The backtrace has changed")
            require(read.context == record.context, "The context is \(read.context) instead of \(record.context)")
        } catch {
            fatalError("The stored causes and backtrace can't be read: \(json.asText): \(error)")
        }
    }
}

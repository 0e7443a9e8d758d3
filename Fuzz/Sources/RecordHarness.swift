import IssueCore
import IssueProtocol

/// A record decoded directly from its bytes has the same fields as one read by way of `IssueRecord`, which is slower.
///
/// Input: the record. The limits are small, so that inputs reach them.
enum RecordHarness {
    static let limits: RecordLimits = {
        var limits = RecordLimits()
        limits.recordBytes = 700
        limits.depth = 6
        limits.keys = 24
        limits.recordsPerCall = 5
        limits.templateBytes = 100
        return limits
    }()
    static let seed: UInt64 = 42

    private static let fields: Set<String> = [
        "message", "severity", "domain", "code", "occurred_at", "first_occurred_at", "count", "source",
        "source.file_id", "source.line", "source.column", "source.function", "source.module", "app", "app.name",
        "app.version", "app.build", "app.environment", "app.platform", "app.network", "app.development", "fingerprint",
        "backtrace", "causes", "metadata", "reportable", "template", "parts",
    ]

    static func run(_ input: Span<UInt8>) {
        var decoder = RecordDecoder(limits: limits, seed: seed)
        var batch = RecordBatch()
        guard let first = decode(input, &decoder, &batch) else {
            return require(!isJSON(input), "Valid JSON was refused")
        }
        require(isJSON(input), "Invalid JSON was accepted as a record")
        // The same record again, with the caches that the first one has filled.
        let size = batch.bytes.count
        let second = decode(input, &decoder, &batch)
        require(second == first, "The second decoding of a record differs")
        let slow = issueRecord(input)
        switch first {
        case .rejected(let rejection):
            require(batch.records.isEmpty && batch.bytes.isEmpty, "A rejected record has left data in the batch")
            check(rejection)
            if let slow, !isBeyondLimits(slow, input) { fatalError("A valid record was rejected: \(rejection)") }
        case .stored:
            guard let slow else { fatalError("An invalid record was accepted") }
            require(batch.records.count == 2, "The batch has \(batch.records.count) records instead of two")
            require(batch.bytes.count == 2 * size, "The second record has another size than the first")
            require(
                batch.bytes[0..<size] == batch.bytes[size..<2 * size],
                "The second record has other bytes than the first")
            for (index, record) in batch.records.enumerated() {
                RecordComparison(record, in: batch, from: index * size, to: (index + 1) * size).check(against: slow)
            }
            checkWritten(slow, as: batch.records[0], of: batch)
        }
    }

    /// The result of decoding a record.
    enum Outcome: Equatable {
        case stored
        case rejected(RecordRejection)
    }

    /// Decodes a record. Returns nil if the bytes are not one JSON value.
    private static func decode(
        _ bytes: Span<UInt8>, _ decoder: inout RecordDecoder, _ batch: inout RecordBatch
    ) -> Outcome? {
        let before = batch.records.count
        var scanner = JSONScanner(bytes, maximumDepth: limits.depth, maximumKeys: limits.keys)
        do throws(JSONError) {
            let rejection = try decoder.decode(&scanner, into: &batch)
            require(
                batch.records.count == (rejection == nil ? before + 1 : before),
                "The number of records in the batch is wrong")
            try scanner.end()
            return rejection.map { .rejected($0) } ?? .stored
        } catch {
            return nil
        }
    }

    private static func isJSON(_ bytes: Span<UInt8>) -> Bool {
        do throws(PlainJSON.Failure) {
            _ = try PlainJSON.value(bytes.array())
            return true
        } catch {
            // JSON that is too deep for the plain reader may still be valid.
            guard error == .tooDeep else { return false }
            var scanner = JSONScanner(bytes)
            return (try? scanner.skipValueOfAnySize()) != nil && (try? scanner.end()) != nil
        }
    }

    private static func issueRecord(_ bytes: Span<UInt8>) -> IssueRecord? {
        var scanner = JSONScanner(bytes, maximumDepth: limits.depth, maximumKeys: limits.keys)
        do throws(FieldError) {
            return try IssueRecord(from: &scanner)
        } catch {
            return nil
        }
    }

    /// Returns `true` if a record must be rejected although `IssueRecord` accepts it: it is too large, or a count is
    /// out of range. If `count` occurs twice, `IssueRecord` may have checked only one of them.
    private static func isBeyondLimits(_ record: IssueRecord, _ bytes: Span<UInt8>) -> Bool {
        guard bytes.count <= limits.recordBytes else { return true }
        guard let value = try? JSONValue(json: bytes) else { return false }
        return (value.asObject ?? []).contains { member in
            guard member.key == "count", let count = member.value.asInteger else { return false }
            return !(1...1_000_000_000).contains(count)
        }
    }

    private static func check(_ rejection: RecordRejection) {
        require(rejection.field.map { fields.contains($0) } ?? true, "Unknown field \(rejection.field ?? "")")
        require(!rejection.reason.isEmpty, "A record was rejected without a reason")
    }

    /// A record has the same series after writing it and decoding it again.
    private static func checkWritten(_ record: IssueRecord, as decoded: DecodedRecord, of batch: RecordBatch) {
        var generous = limits
        generous.recordBytes = .max
        var decoder = RecordDecoder(limits: generous, seed: seed)
        var again = RecordBatch()
        let json = record.json
        let outcome = decode(json.span, &decoder, &again)
        require(outcome == .stored, "\(json.asText) was written, and decoded as \(String(describing: outcome))")
        require(
            again.seriesKey(of: again.records[0]) == batch.seriesKey(of: decoded),
            "The record has another series after writing it")
    }
}

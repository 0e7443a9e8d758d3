import IssueCore
import IssueProtocol

/// A record that is decoded straight from its bytes says what the slow way over a value for each member says.
///
/// Input: the record. The limits are small, so that they are met.
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
        "backtrace", "causes", "metadata", "reportable",
    ]

    static func run(_ input: Span<UInt8>) {
        var decoder = RecordDecoder(limits: limits, seed: seed)
        var batch = RecordBatch()
        guard let first = decode(input, &decoder, &batch) else {
            return require(!isJSON(input), "JSON was taken for none")
        }
        require(isJSON(input), "A record was found in what is no JSON")
        // A second time behind the first, with the memory of the first.
        let size = batch.bytes.count
        let second = decode(input, &decoder, &batch)
        require(second == first, "The same record is decoded in two ways")
        let slow = slowly(input)
        switch first {
        case .rejected(let rejection):
            require(batch.records.isEmpty && batch.bytes.isEmpty, "A rejected record leaves something behind")
            check(rejection)
            if let slow, !isBeyondLimits(slow, input) { fatalError("Rejected: \(rejection), and nothing is wrong") }
        case .stored:
            guard let slow else { fatalError("Something is wrong with a record that was taken") }
            require(batch.records.count == 2, "Two records were stored, and not \(batch.records.count)")
            require(batch.bytes.count == 2 * size, "The second record takes other bytes than the first")
            require(
                batch.bytes[0..<size] == batch.bytes[size..<2 * size],
                "The second record has other bytes than the first")
            for (index, record) in batch.records.enumerated() {
                RecordComparison(record, in: batch, from: index * size, to: (index + 1) * size).check(against: slow)
            }
            checkWritten(slow, as: batch.records[0], of: batch)
        }
    }

    /// What came of a record.
    enum Outcome: Equatable {
        case stored
        case rejected(RecordRejection)
    }

    /// Nothing where it is no JSON, or more than one value.
    private static func decode(
        _ bytes: Span<UInt8>, _ decoder: inout RecordDecoder, _ batch: inout RecordBatch
    ) -> Outcome? {
        let before = batch.records.count
        var scanner = JSONScanner(bytes, maximumDepth: limits.depth, maximumKeys: limits.keys)
        do throws(JSONError) {
            let rejection = try decoder.decode(&scanner, into: &batch)
            require(batch.records.count == (rejection == nil ? before + 1 : before), "One decoded, and another number")
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
            // What is too deep for the plain reader may still be JSON.
            guard error == .tooDeep else { return false }
            var scanner = JSONScanner(bytes)
            return (try? scanner.skipValueOfAnySize()) != nil && (try? scanner.end()) != nil
        }
    }

    private static func slowly(_ bytes: Span<UInt8>) -> IssueRecord? {
        var scanner = JSONScanner(bytes, maximumDepth: limits.depth, maximumKeys: limits.keys)
        do throws(FieldError) {
            return try IssueRecord(from: &scanner)
        } catch {
            return nil
        }
    }

    /// Whether a record is one that is to be rejected though each of its members can be read. Of a count that comes
    /// twice the first may be the wrong one.
    private static func isBeyondLimits(_ record: IssueRecord, _ bytes: Span<UInt8>) -> Bool {
        guard bytes.count <= limits.recordBytes else { return true }
        guard let value = try? JSONValue(json: bytes) else { return false }
        return (value.asObject ?? []).contains { member in
            guard member.key == "count", let count = member.value.asInteger else { return false }
            return !(1...1_000_000_000).contains(count)
        }
    }

    private static func check(_ rejection: RecordRejection) {
        require(rejection.field.map { fields.contains($0) } ?? true, "There is no field \(rejection.field ?? "")")
        require(!rejection.reason.isEmpty, "A record was rejected without a reason")
    }

    /// What was read is written, and decoded again it is of the same series.
    private static func checkWritten(_ record: IssueRecord, as decoded: DecodedRecord, of batch: RecordBatch) {
        var generous = limits
        generous.recordBytes = .max
        var decoder = RecordDecoder(limits: generous, seed: seed)
        var again = RecordBatch()
        let json = record.json
        let outcome = decode(json.span, &decoder, &again)
        require(outcome == .stored, "\(json.shown) was written, and of it came \(String(describing: outcome))")
        require(
            again.seriesKey(of: again.records[0]) == batch.seriesKey(of: decoded),
            "Written again it is of another series")
    }
}

import IssueCore
import IssueProtocol
import IssueStore

/// Decodes the parameters of `Report` calls into a batch, record by record.
struct ReportReader {
    private var decoder: RecordDecoder
    private var parameters = ParameterTable()
    private var producers = ProducerReader()
    private var numberings = NumberingReader()
    /// The numbers of values redacted since the last call of `takeRedactions()`; nil if no value was redacted.
    private var redactions: RedactionCounts?

    init(limits: RecordLimits, seed: UInt64, redactor: Redactor = Redactor()) {
        decoder = RecordDecoder(limits: limits, seed: seed, redactor: redactor)
    }

    /// Sets the redactor for the following reports.
    mutating func use(_ redactor: Redactor) {
        decoder.use(redactor)
    }

    /// Returns a text with its secrets redacted; nil for nil.
    mutating func redacted(_ text: String?) -> String? { text.map { decoder.redacted($0) } }

    /// Returns the numbers of values redacted since the last call; nil if no value was redacted.
    mutating func takeRedactions() -> RedactionCounts? {
        defer { redactions = nil }
        return redactions
    }

    private mutating func countRedactions() {
        guard let counts = decoder.takeRedactionCounts() else { return }
        redactions = redactions ?? RedactionCounts()
        redactions?.add(counts)
    }

    /// A decoded report.
    struct Report {
        var call: ReportCall
        /// Whether the client wants no reply.
        var oneway: Bool
    }

    /// The start of a report as most clients write it. A message with this start is parsed in a single pass if
    /// possible.
    private static let defaultStart = Array(#"{"method":"org.issued.Collector.Report","parameters":{"#.utf8)

    /// Returns `true` if a message starts as most clients write a report.
    static func hasDefaultStart(_ message: Span<UInt8>) -> Bool {
        guard message.count > defaultStart.count else { return false }
        let expected = defaultStart.span
        return message.equals(from: 0, expected, from: 0, count: expected.count)
    }

    /// Decodes a message for which `hasDefaultStart(_:)` is `true`, in a single pass.
    ///
    /// If it throws or returns nil, the batch is unchanged.
    ///
    /// - Returns: nil if what follows the parameters is unusual or invalid, so that the message must be parsed again as
    ///   a whole.
    /// - Throws: The error with which the report is refused.
    mutating func readInOnePass(
        _ message: Span<UInt8>, token: UInt64, into batch: inout RecordBatch
    ) throws(CollectorError) -> Report? {
        let before = (records: batch.records.count, bytes: batch.bytes.count)
        var report: Report?
        do throws(CollectorError) {
            var scanner = JSONScanner(
                message, atMemberValue: Self.defaultStart.count - 1, maximumDepth: decoder.limits.depth + 3,
                maximumKeys: decoder.limits.keys)
            let call = try readCall(&scanner, token, &batch)
            report = Self.readRest(&scanner).map { Report(call: call, oneway: $0) }
        } catch {
            undo(&batch, before)
            throw error
        }
        if report == nil { undo(&batch, before) } else { countRedactions() }
        return report
    }

    /// Reads the rest of the message, and returns the value of `oneway`, or `false` without it. Returns nil if a member
    /// is unknown or the rest is invalid.
    private static func readRest(_ scanner: inout JSONScanner) -> Bool? {
        var oneway = false
        do throws(JSONError) {
            while let text = try scanner.nextMember() {
                switch scanner.string(text) {
                case "oneway": oneway = try scanner.bool()
                case "more": _ = try scanner.bool()
                default: return nil
                }
            }
            try scanner.end()
        } catch {
            return nil
        }
        return oneway
    }

    /// Reads the parameters of a call. If it throws, the batch is unchanged.
    mutating func read(
        _ parameters: Span<UInt8>, token: UInt64, into batch: inout RecordBatch
    ) throws(CollectorError) -> ReportCall {
        let before = (records: batch.records.count, bytes: batch.bytes.count)
        do throws(CollectorError) {
            // The limit is for the depth of a record, so the depth of the surrounding arrays and objects is added.
            var scanner = JSONScanner(
                parameters, maximumDepth: decoder.limits.depth + 2, maximumKeys: decoder.limits.keys)
            let call = try readCall(&scanner, token, &batch)
            countRedactions()
            return call
        } catch {
            undo(&batch, before)
            throw error
        }
    }

    private mutating func undo(_ batch: inout RecordBatch, _ before: (records: Int, bytes: Int)) {
        // The report will be read again or refused, so its redactions are not counted now.
        _ = decoder.takeRedactionCounts()
        batch.truncate(records: before.records, bytes: before.bytes)
    }

    private mutating func readCall(
        _ scanner: inout JSONScanner, _ token: UInt64, _ batch: inout RecordBatch
    ) throws(CollectorError) -> ReportCall {
        let (end, byteCount) = (batch.records.count, batch.bytes.count)
        var call = ReportCall(token: token, records: end..<end, rejected: [], numbering: nil)
        var id: ProducerID?
        var number: Int64?
        var hasRecords = false
        var parameter: StaticString = "parameters"
        do {
            try scanner.openObject()
            var last: ReportParameter?
            var recordsEnd = 0
            while let known = try parameters.next(&scanner, after: last) {
                let before = last
                last = known
                parameter = known.name
                if known != .records, known != .other, try scanner.null() { continue }
                switch known {
                case .records:
                    hasRecords = true
                    // If `records` occurs twice, the last value counts.
                    batch.truncate(records: end, bytes: byteCount)
                    call.rejected = []
                    try readRecords(&scanner, into: &batch, rejected: &call.rejected)
                    call.records = end..<batch.records.count
                    // The keys after the records do not count for the last record.
                    scanner.startCountingKeys()
                    recordsEnd = scanner.position
                    guard let expected = numberings.skipExpectedKey(&scanner) else { continue }
                    id = expected
                    last = .sequence
                    parameter = ReportParameter.sequence.name
                    number = try scanner.integer()
                case .producer:
                    let text = try scanner.text()
                    id = producers.id(scanner.bytes, from: text.start, to: text.end)
                    if id == nil { throw CollectorError.invalidParameter("producer") }
                case .sequence:
                    if before == .producer, recordsEnd > 0 {
                        numberings.remember(id, scanner.bytes, from: recordsEnd, to: scanner.position)
                    }
                    number = try scanner.integer()
                case .other: _ = try scanner.skipValue()
                }
            }
        } catch let error as CollectorError {
            throw error
        } catch {
            throw .invalidParameter("\(parameter)")
        }
        guard hasRecords else { throw .invalidParameter("records") }
        guard call.count > 0 else {
            throw .invalidRecord(index: nil, field: "records", reason: "a call needs at least one record")
        }
        if let id {
            // The sequence numbers of the call's records, and of a further call of the maximum size, must not overflow.
            guard let number, number >= 0, number < Int64.max - 1000 - Int64(call.count) else {
                throw .invalidParameter("sequence")
            }
            call.numbering = ReportCall.Numbering(producer: id, sequence: number)
        }
        return call
    }

    /// Returns the sequence number in the parameters of a call that was refused; nil if none can be read.
    static func sequence(in parameters: Span<UInt8>) -> Int64? {
        var scanner = JSONScanner(parameters)
        var number: Int64?
        do throws(JSONError) {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                if scanner.string(text) == "sequence", try scanner.kind() == .number {
                    number = try scanner.integer()
                } else {
                    try scanner.skipValueOfAnySize()
                }
            }
        } catch {
            return number
        }
        return number
    }

    private mutating func readRecords(
        _ scanner: inout JSONScanner, into batch: inout RecordBatch, rejected: inout [ReportCall.Rejected]
    ) throws {
        var index = 0
        defer { decoder.complete(&batch) }
        try scanner.openArray()
        while try scanner.nextElement() {
            guard index < decoder.limits.recordsPerCall else {
                throw CollectorError.tooLarge(limit: decoder.limits.recordsPerCall)
            }
            if let rejection = try decoder.decodeNext(&scanner, into: &batch) {
                rejected.append(ReportCall.Rejected(index: index, rejection: rejection))
            }
            index += 1
        }
    }
}

/// A parameter of the `Report` method.
enum ReportParameter: Sendable {
    case records
    case producer
    case sequence
    /// A parameter that a later version of the protocol may define.
    case other

    /// The name in errors.
    var name: StaticString {
        switch self {
        case .records: "records"
        case .producer: "producer"
        case .sequence: "sequence"
        case .other: "parameters"
        }
    }
}

/// Recognises the parameters of `Report` by their keys.
struct ParameterTable: Sendable {
    private struct KnownParameter {
        var key: JSONKey
        var literal: JSONKeyLiteral

        init(_ key: StaticString) {
            guard let literal = JSONKeyLiteral(key) else {
                preconditionFailure("The keys of the parameters are short")
            }
            self.key = JSONKey(key)
            self.literal = literal
        }
    }

    private let records = KnownParameter("records")
    private let producer = KnownParameter("producer")
    private let sequence = KnownParameter("sequence")

    /// Advances past the next key and returns its parameter; nil at the end. It first tries the order of the interface
    /// description, in which most clients write the parameters.
    @inline(__always)
    mutating func next(
        _ scanner: inout JSONScanner, after last: ReportParameter?
    ) throws(JSONError) -> ReportParameter? {
        switch last {
        case nil: if scanner.skipKey(records.literal) { return .records }
        case .records: if scanner.skipKey(producer.literal) { return .producer }
        case .producer: if scanner.skipKey(sequence.literal) { return .sequence }
        case .sequence, .other: break
        }
        guard let text = try scanner.nextMember() else { return nil }
        let key = scanner.key(text)
        if key == records.key { return .records }
        if key == producer.key { return .producer }
        return key == sequence.key ? .sequence : .other
    }
}

/// Remembers how the last call wrote its producer id, because most calls of a connection write it in the same way.
struct NumberingReader {
    /// The bytes between the records and the number in the last call that was remembered, starting with the comma.
    private var before = ByteBuffer()
    private var producer: ProducerID?

    /// The maximum number of bytes that are remembered. If there are more, they are parsed each time.
    private static let maxBytes = 96

    /// If the next bytes are the remembered ones, advances past them to the sequence number and returns the producer;
    /// otherwise returns nil.
    @inline(__always)
    mutating func skipExpectedKey(_ scanner: inout JSONScanner) -> ProducerID? {
        scanner.skipMembers(before.span) ? producer : nil
    }

    /// Remembers the bytes between the end of the records and the start of the number, and the producer. Does nothing
    /// without a producer, or if the bytes are too many.
    mutating func remember(_ id: ProducerID?, _ bytes: Span<UInt8>, from start: Int, to end: Int) {
        guard let id, end - start <= Self.maxBytes else { return }
        producer = id
        before.truncate(to: 0)
        before.append(bytes, from: start, to: end)
    }
}

extension RecordLimits {
    /// The limits of a record that `[Socket]` sets.
    init(_ settings: SocketSettings) {
        self.init()
        recordBytes = settings.maxRecordSize
        depth = settings.maxDepth
        keys = settings.maxKeys
    }
}

import IssueCore
import IssueProtocol
import IssueStore

/// Reads the parameters of `Report` calls, record by record, into a batch.
struct ReportReader {
    private var decoder: RecordDecoder
    private var parameters = ParameterTable()
    private var producers = ProducerReader()
    private var numberings = NumberingReader()

    init(limits: RecordLimits, seed: UInt64) {
        decoder = RecordDecoder(limits: limits, seed: seed)
    }

    /// A report that was read: its call, and whether it wants a reply.
    struct Report {
        var call: ReportCall
        var oneway: Bool
    }

    /// How a message begins that is a report written as most clients write it; then it need be read only once.
    private static let defaultStart = Array(#"{"method":"org.issued.Collector.Report","parameters":{"#.utf8)

    /// Whether a message begins as most clients begin a report.
    static func beginsFast(_ message: Span<UInt8>) -> Bool {
        guard message.count > defaultStart.count else { return false }
        let usual = defaultStart.span
        return message.equals(from: 0, usual, from: 0, count: usual.count)
    }

    /// Reads a message that begins as usual, its parameters and what follows them.
    ///
    /// - Returns: nothing where it goes on in another way than usual, so that it must be looked at as a whole.
    mutating func readUsual(
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
        if report == nil { undo(&batch, before) }
        return report
    }

    /// What follows the parameters: whether no reply is wanted, or nothing where there is more than that to say.
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

    /// Reads the parameters of one call; what it has added to the batch is taken away again when it is refused.
    mutating func read(
        _ parameters: Span<UInt8>, token: UInt64, into batch: inout RecordBatch
    ) throws(CollectorError) -> ReportCall {
        let before = (records: batch.records.count, bytes: batch.bytes.count)
        do throws(CollectorError) {
            // A record's own depth is what is limited, so that of what stands around it is added.
            var scanner = JSONScanner(
                parameters, maximumDepth: decoder.limits.depth + 2, maximumKeys: decoder.limits.keys)
            return try readCall(&scanner, token, &batch)
        } catch {
            undo(&batch, before)
            throw error
        }
    }

    private func undo(_ batch: inout RecordBatch, _ before: (records: Int, bytes: Int)) {
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
                    // Of a key that comes twice the last value holds.
                    batch.truncate(records: end, bytes: byteCount)
                    call.rejected = []
                    try readRecords(&scanner, into: &batch, rejected: &call.rejected)
                    call.records = end..<batch.records.count
                    // What follows them is no part of the last record.
                    scanner.startCountingKeys()
                    recordsEnd = scanner.position
                    guard let expected = numberings.passExpected(&scanner) else { continue }
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
                        numberings.read(id, scanner.bytes, from: recordsEnd, to: scanner.position)
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
            throw .invalidRecord(index: nil, field: "records", reason: "a call carries at least one record")
        }
        if let id {
            guard let number, number >= 0, number < Int64.max - 1000 else { throw .invalidParameter("sequence") }
            call.numbering = ReportCall.Numbering(producer: id, sequence: number)
        }
        return call
    }

    /// The number that a call begins with, for a call that could not be read as a whole; nothing where it has none.
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

/// A parameter of `Report`.
enum ReportParameter: Sendable {
    case records
    case producer
    case sequence
    /// One that a later version of the protocol may know.
    case other

    /// What an error calls it.
    var name: StaticString {
        switch self {
        case .records: "records"
        case .producer: "producer"
        case .sequence: "sequence"
        case .other: "parameters"
        }
    }
}

/// Reads who numbers the records of a call, which most calls say as the one before them did.
struct NumberingReader {
    /// What stood between the records and the number the last time, from the comma on.
    private var before = ByteBuffer()
    private var producer: ProducerID?

    /// What is longer is read each time.
    private static let maxBytes = 96

    /// Passes the name of the producer up to its number, if both follow the records as they did the last time.
    @inline(__always)
    mutating func passExpected(_ scanner: inout JSONScanner) -> ProducerID? {
        scanner.passMembers(before.span) ? producer : nil
    }

    /// The records ended at one index and the number begins at another.
    mutating func read(_ id: ProducerID?, _ bytes: Span<UInt8>, from start: Int, to end: Int) {
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

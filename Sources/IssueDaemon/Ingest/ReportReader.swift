import IssueCore
import IssueProtocol
import IssueStore

/// Reads the parameters of `Report` calls, record by record, into a batch.
struct ReportReader {
    private var decoder: RecordDecoder
    private let records = JSONKey("records")
    private let producer = JSONKey("producer")
    private let sequence = JSONKey("sequence")

    init(limits: RecordLimits, seed: UInt64) {
        decoder = RecordDecoder(limits: limits, seed: seed)
    }

    /// Reads one call; what it has added to the batch is taken away again when it is refused.
    mutating func read(
        _ parameters: Span<UInt8>, token: UInt64, into batch: inout RecordBatch
    ) throws(CollectorError) -> ReportCall {
        let before = (records: batch.records.count, bytes: batch.bytes.count)
        do throws(CollectorError) {
            return try readCall(parameters, token, &batch)
        } catch {
            batch.records.removeSubrange(before.records...)
            batch.bytes.removeSubrange(before.bytes...)
            throw error
        }
    }

    private mutating func readCall(
        _ parameters: Span<UInt8>, _ token: UInt64, _ batch: inout RecordBatch
    ) throws(CollectorError) -> ReportCall {
        let end = batch.records.count
        var call = ReportCall(token: token, records: end..<end, rejected: [], numbering: nil)
        var id: ProducerID?
        var number: Int64?
        var hasRecords = false
        var parameter = "parameters"
        do {
            var scanner = JSONScanner(parameters, maximumDepth: decoder.limits.depth, maximumKeys: decoder.limits.keys)
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let key = scanner.key(text)
                if key == records {
                    parameter = "records"
                    hasRecords = true
                    let first = batch.records.count
                    try readRecords(&scanner, into: &batch, rejected: &call.rejected)
                    call.records = first..<batch.records.count
                } else if try scanner.null() {
                    continue
                } else if key == producer {
                    parameter = "producer"
                    id = ProducerID(scanner.string(try scanner.text()))
                    if id == nil { throw CollectorError.invalidParameter("producer") }
                } else if key == sequence {
                    parameter = "sequence"
                    number = try scanner.integer()
                } else {
                    _ = try scanner.skipValue()
                }
            }
        } catch let error as CollectorError {
            throw error
        } catch {
            throw .invalidParameter(parameter)
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

    private mutating func readRecords(
        _ scanner: inout JSONScanner, into batch: inout RecordBatch, rejected: inout [ReportCall.Rejected]
    ) throws {
        var index = 0
        try scanner.openArray()
        while try scanner.nextElement() {
            guard index < decoder.limits.recordsPerCall else {
                throw CollectorError.tooLarge(limit: decoder.limits.recordsPerCall)
            }
            if let rejection = try decoder.decode(&scanner, into: &batch) {
                rejected.append(ReportCall.Rejected(index: index, rejection: rejection))
            }
            index += 1
        }
    }
}

import IssueCore
import IssueProtocol
import IssueStore

@testable import IssueDaemon

/// Reading a report in one pass and in two passes gives the same result, with the same values as in `ReportParameters`.
///
/// Input: the rest of a message with the usual beginning; or a whole message, if it begins with a space.
enum ReportHarness {
    private static let start = Array(#"{"method":"org.issued.Collector.Report","parameters":"#.utf8)

    static func run(_ input: Span<UInt8>) {
        let bytes = input.array()
        let message = bytes.first == UInt8(ascii: " ") ? bytes : start + bytes
        let hasDefaultStart = ReportReader.hasDefaultStart(message.span)
        let isObject = message.starts(with: start) && message.dropFirst(start.count).first == UInt8(ascii: "{")
        require(hasDefaultStart == (isObject && message.count > start.count + 1), "hasDefaultStart is wrong")
        let slow = Outcome(message.span, isFast: false)
        if hasDefaultStart {
            let quick = Outcome(message.span, isFast: true)
            require(quick == slow, "In one pass: \(quick.asText). In two: \(slow.asText)")
        }
        guard case .read(let report) = slow, let envelope = try? VarlinkCall.Envelope(scanning: message.span) else {
            return
        }
        check(report, message.span.extracting(envelope.parameters ?? 0..<0).array())
    }

    /// The result of reading a message.
    private enum Outcome: Equatable {
        case read(Report)
        case refused(CollectorError)
        /// The message is not a call. The connection is closed.
        case noCall

        var asText: String {
            switch self {
            case .read(let report): "\(report.rejected), \(report.texts)"
            case .refused(let error): "\(error)"
            case .noCall: "no call"
            }
        }

        /// Reads a message as the socket loop does.
        init(_ message: Span<UInt8>, isFast: Bool) {
            var reader = ReportReader(limits: RecordHarness.limits, seed: RecordHarness.seed)
            // The batch already has a record, which must not change.
            var batch = RecordBatch()
            let before = Array(#"{"records":[{"message":"before 1"}]}"#.utf8)
            _ = try? reader.read(before.span, token: 1, into: &batch)
            let size = batch.bytes.count
            require(batch.records.count == 1, "A plain call was not read")
            let envelope = try? VarlinkCall.Envelope(scanning: message)
            do throws(CollectorError) {
                if isFast, let report = try reader.readInOnePass(message, token: 7, into: &batch) {
                    self = .read(Report(report.call, oneway: report.oneway, batch))
                    return
                }
                require(
                    batch.records.count == 1 && batch.bytes.count == size,
                    "A failed fast read has left data in the batch")
                guard let envelope else {
                    self = .noCall
                    return
                }
                guard let range = envelope.parameters else { throw .invalidParameter("records") }
                let call = try reader.read(message.extracting(range), token: 7, into: &batch)
                self = .read(Report(call, oneway: envelope.oneway, batch))
            } catch {
                require(
                    batch.records.count == 1 && batch.bytes.count == size, "A refused call has left data in the batch")
                self = envelope == nil ? .noCall : .refused(error)
            }
        }
    }

    /// A report that was read, without the offsets of its records in the batch.
    private struct Report: Equatable {
        var oneway: Bool
        var rejected: [ReportCall.Rejected]
        var numbering: ReportCall.Numbering?
        var texts: [[String]]
        var bytes: [UInt8]

        init(_ call: ReportCall, oneway: Bool, _ batch: RecordBatch) {
            self.oneway = oneway
            require(call.token == 7, "A call has the wrong token")
            rejected = call.rejected
            numbering = call.numbering
            texts = batch.records[call.records].map { record in
                [record.message, record.metadata, record.details].map { batch.string($0) } + [
                    "\(batch.seriesKey(of: record))", "\(record.occurredAt)", "\(record.firstOccurredAt)",
                    "\(record.count)",
                ]
            }
            bytes = batch.bytes[0..<batch.bytes.count]
        }
    }

    private static func check(_ report: Report, _ parameters: [UInt8]) {
        let indices = report.rejected.map(\.index)
        let count = report.texts.count + indices.count
        require(zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 }, "The rejections are out of order: \(indices)")
        require(indices.allSatisfy { (0..<count).contains($0) }, "The index of a rejection is out of range: \(indices)")
        require((1...RecordHarness.limits.recordsPerCall).contains(count), "A call has \(count) records")
        // `ReportParameters` can't read a call with a rejected record or with one that is too deep.
        guard let slow = try? ReportParameters(json: parameters), report.rejected.isEmpty else { return }
        require(slow.records.count == count, "\(count) of \(slow.records.count) records were read")
        let producer = slow.producer.flatMap { ProducerID($0) }
        require(report.numbering?.producer == producer, "The producer is \(String(describing: report.numbering))")
        if producer != nil {
            require(report.numbering?.sequence == slow.sequence, "The number is \(String(describing: slow.sequence))")
        }
        for (record, texts) in zip(slow.records, report.texts) {
            require(texts[6] == "\(record.count ?? 1)", "A record has the wrong count")
            require(record.metadata == nil || !texts[1].isEmpty, "Metadata is lost")
        }
    }
}

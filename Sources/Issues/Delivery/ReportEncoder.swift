internal import IssueWire

/// The encoding of a `Report` call.
enum ReportEncoder {
    /// The daemon's limit for a record in bytes, with a margin for parts that are counted differently.
    private static let recordLimit = 255 << 10
    /// Below this size, a record stays within the limit even if every byte is escaped.
    private static let certainlySmall = recordLimit / 8

    static func text(of call: OutboxCall<QueuedReport>, producer: String) -> [UInt8] {
        var writer = JSONWriter(reserving: min(call.sentBytes * 5 / 4 + 256, 1 << 20))
        writer.object { writer in
            writer.member("method", CollectorMethod.report.fullName)
            writer.key("parameters")
            writer.object { writer in
                writer.key("records")
                writer.openArray()
                var droppedBefore = call.droppedBefore
                for entry in call.entries {
                    write(entry, droppedBefore: droppedBefore, to: &writer)
                    droppedBefore = 0
                }
                writer.closeArray()
                writer.member("producer", producer)
                writer.member("sequence", call.sequence)
            }
        }
        writer.endText(with: 0)
        return writer.bytes
    }

    private static func write(
        _ entry: OutboxEntry<QueuedReport>, droppedBefore: Int, to writer: inout JSONWriter
    ) {
        let queued = entry.payload
        let record = queued.report.record(
            application: queued.application.info, droppedBefore: droppedBefore, repeats: queued.repeats,
            lastRepeat: queued.lastRepeat)
        if entry.sentBytes < certainlySmall {
            record.write(to: &writer)
        } else {
            writer.raw(record.json(atMost: recordLimit))
        }
    }
}

/// The meaning of a reply to `Report`.
enum ReportResult {
    case receipts([RecordReceipt])
    case later(Duration?)
    case tooLarge(limit: Int?)
    case refused(String)
    case malformed

    init(_ reply: VarlinkReply) {
        switch CollectorError(reply) {
        case nil: self = (try? ReportReply(json: reply.parameters)).map { .receipts($0.receipts) } ?? .malformed
        case .tooLarge(let limit): self = .tooLarge(limit: limit)
        case .busy(let delay): self = .later(delay)
        case .invalidRecord, .invalidFilter, .invalidParameter, .denied, .permissionDenied, .expectedMore, .notFound:
            self = .refused(CollectorError(reply)?.description ?? "")
        case .noSpace, .interfaceNotFound, .methodNotFound, .methodNotImplemented, .unknown:
            // Another daemon, or a later version of this one, may accept the call.
            self = .later(nil)
        }
    }

    /// Returns the outcome for the record at an index of the call. `path` is the socket of the daemon.
    func outcome(at index: Int, path: String) -> ReceiptState.StoreResult {
        switch self {
        case .receipts(let receipts):
            switch receipts[index] {
            case .stored(let id), .duplicate(let id?): .success(ReceiptState.Stored(id: id, path: path))
            case .duplicate(nil):
                .failure(IssueDeliveryError(.unidentified, "The issue is stored, but its id is no longer known."))
            case .rejected(let field, let reason):
                .failure(IssueDeliveryError(.rejected, field.map { "\($0): \(reason)" } ?? reason))
            }
        case .refused(let reason):
            .failure(IssueDeliveryError(.rejected, reason))
        case .tooLarge:
            .failure(IssueDeliveryError(.rejected, "The record is larger than the daemon allows."))
        case .later, .malformed:
            .failure(IssueDeliveryError(.malformed, "The daemon sent an invalid reply."))
        }
    }
}

/// A report with what is needed to send it.
struct QueuedReport: Sendable {
    var report: IssueReport
    var application: ApplicationSnapshot
    var receipt: ReceiptState?
    /// The number of identical reports that were coalesced into this one. `lastRepeat` is the time of the last one.
    var repeats = 0
    var lastRepeat: IssueTimestamp?
}

extension QueuedReport {
    init(_ report: IssueReport, receipt: ReceiptState?) {
        self.report = report
        // The report contains the error's text. The error itself may keep large parts of the application in memory.
        if report.error != nil { self.report.error = nil }
        application = IssueReporters.applicationSnapshot
        self.receipt = receipt
    }

    /// Coalesces `other` into this report if both are equal and neither has a receipt. Returns whether it did.
    mutating func absorb(_ other: QueuedReport) -> Bool {
        guard receipt == nil, other.receipt == nil, application === other.application,
            report.isDuplicate(as: other.report)
        else { return false }
        repeats += 1
        lastRepeat = other.report.timestamp
        return true
    }
}

internal import IssueWire

/// What a reply to `Report` means for the call.
enum ReportAnswer {
    case receipts([RecordReceipt])
    case later(Duration?)
    case tooLarge(limit: Int?)
    case refused(String)
    case malformed

    init(_ reply: VarlinkReply) {
        if let error = CollectorError(reply) {
            self.init(error)
        } else if let answer = try? ReportReply(json: reply.parameters) {
            self = .receipts(answer.receipts)
        } else {
            self = .malformed
        }
    }

    private init(_ error: CollectorError) {
        switch error {
        case .tooLarge(let limit):
            self = .tooLarge(limit: limit)
        case .busy(let delay):
            self = .later(delay)
        case .invalidRecord, .invalidFilter, .invalidParameter, .denied, .permissionDenied, .expectedMore, .notFound:
            self = .refused(error.description)
        case .noSpace, .interfaceNotFound, .methodNotFound, .methodNotImplemented, .unknown:
            // Another daemon, or this one tomorrow, may take it.
            self = .later(nil)
        }
    }

    /// What became of one record of the call.
    func outcome(at index: Int, path: String) -> ReceiptState.Outcome {
        switch self {
        case .receipts(let receipts):
            switch receipts[index] {
            case .stored(let id), .duplicate(let id?): .success(ReceiptState.Stored(id: id, path: path))
            case .duplicate(nil):
                .failure(DeliveryError(.unidentified, "The issue is stored, but its id is no longer known."))
            case .rejected(let field, let reason):
                .failure(DeliveryError(.rejected, field.map { "\($0): \(reason)" } ?? reason))
            }
        case .refused(let reason):
            .failure(DeliveryError(.rejected, reason))
        case .tooLarge:
            .failure(DeliveryError(.rejected, "The record is larger than the daemon allows."))
        case .later, .malformed:
            .failure(DeliveryError(.malformed, "The daemon's answer was none."))
        }
    }
}

package import HTTPTransfer
package import IssueCore

extension HTTPTransferError {
    /// What it means for the records that no answer came.
    package var verdict: DeliveryVerdict {
        if bodyFullySent { return .ambiguous(.noAnswer) }
        return switch code {
        case .invalidRequest: .paused(.notFound)
        case .resolve, .proxy: .again(.unreachable, retryAfter: nil)
        case .refused: .again(.refused, retryAfter: nil)
        case .connectTimeout: .again(.timeout, retryAfter: nil)
        case .tls: .again(.tls, retryAfter: nil)
        // A connection comes about, so one more would tell nothing new.
        case .timeout, .connectionLost, .cancelled, .other: .again(.reset, retryAfter: nil)
        case .malformedAnswer: .again(.serverError, retryAfter: nil)
        }
    }
}

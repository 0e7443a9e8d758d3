package import HTTPTransfer
package import IssueCore

extension LogzAnswer {
    /// What it means that no answer came.
    package func meaning(of error: HTTPTransferError) -> DeliveryAnswer {
        DeliveryAnswer(Self.verdict(of: error), AnswerSummary(scrubbed(error.sentence)))
    }

    private static func verdict(of error: HTTPTransferError) -> DeliveryVerdict {
        if error.bodyFullySent { return .ambiguous(.noAnswer) }
        return switch error.code {
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

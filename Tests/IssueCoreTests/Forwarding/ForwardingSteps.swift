import IssueCore
import IssueProtocol

/// Helpers that create a forwarder's inputs, with times in seconds.
protocol ForwardingSteps {}

extension ForwardingSteps {
    func at(_ seconds: Double) -> MonotonicInstant { ForwardingRun.at(seconds) }

    func answer(_ verdict: DeliveryVerdict) -> DeliveryResult {
        DeliveryResult(verdict, ResponseSummary("an answer"))
    }

    func pending(_ records: Int, since: Double) -> PendingCounts {
        PendingCounts(records: records, bytes: records * 100, oldest: at(since))
    }

    func batch(_ id: Int64, _ count: Int) -> ForwardingBatch {
        ForwardingBatch(id: BatchID(id), count: count, bytes: count * 100)
    }
}

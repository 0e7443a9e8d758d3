import IssueCore
import IssueProtocol
import Testing

struct NextBatchLimitTests {
    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(1000 + seconds)) }

    /// Returns a forwarder whose batch of 400 lines is in flight.
    private func sending(_ settings: ForwardSettings) -> Forwarding {
        var forwarding = Forwarding(settings: settings, at: at(0))
        let pending = PendingCounts(records: 500, bytes: 50_000, oldest: at(0))
        _ = forwarding.recordsArrived(pending, at: at(0))
        _ = forwarding.batchStored(ForwardingBatch(id: 1, count: 400, bytes: 40_000), at: at(0))
        return forwarding
    }

    @Test("The limit of the next batch is known while a whole batch is sent for the first time without pacing")
    func ahead() {
        var settings = ForwardSettings()
        #expect(sending(settings).nextBatchLimit(at: at(0)) == nil)

        settings.sendRate = Rate(0, per: .seconds(1))
        var forwarding = sending(settings)
        #expect(forwarding.nextBatchLimit(at: at(0)) == BatchLimit(records: settings.batchRecords, bytes: 1 << 20))

        // A part of the batch may be next, or the same lines again.
        _ = forwarding.answered(
            DeliveryResult(.partial(PartialAnswer(successful: nil)), ResponseSummary("400")), unit: 0, at: at(1))
        #expect(forwarding.nextBatchLimit(at: at(1)) == nil)
        forwarding = sending(settings)
        _ = forwarding.answered(
            DeliveryResult(.again(.overloaded, retryAfter: nil), ResponseSummary("503")), unit: 0, at: at(1))
        #expect(forwarding.nextBatchLimit(at: at(1)) == nil)

        forwarding = sending(settings)
        _ = forwarding.stopRequested()
        #expect(forwarding.nextBatchLimit(at: at(1)) == nil)
    }
}

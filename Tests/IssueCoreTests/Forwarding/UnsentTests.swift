import Testing

@testable import IssueCore

struct UnsentTests: ForwardingSteps {
    @Test("Lines that were never sent do not count as sent, so the next attempt does not count as a resend")
    func neverSent() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(
            PendingCounts(records: 500, bytes: 50_000, oldest: at(0), priorityRecords: 0, oldestPriority: nil),
            at: at(0))
        _ = forwarding.batchStored(ForwardingBatch(id: 1, count: 100, bytes: 10_000), at: at(0))
        func answer(_ failure: FailureClass, at now: Double) -> Forwarding.AnswerAction {
            forwarding.answered(
                DeliveryResult(.again(failure, retryAfter: nil), ResponseSummary("an answer")), unit: 0, at: at(now))
        }
        for round in [10.0, 20, 30] {
            guard case .wait(let until, _) = answer(.refused, at: round) else {
                Issue.record("The batch is not tried again")
                return
            }
            _ = forwarding.waited(at: until)
            #expect(forwarding.view.resent == 0)
        }
        _ = answer(.overloaded, at: 40)
        #expect(forwarding.waited(at: at(500)) == .send(.init(batch: 1, range: 0..<100)))
        #expect(forwarding.view.resent == 100)
    }

    @Test("Only a destination that was reached may have received something", arguments: FailureClass.allCases)
    func reached(failure: FailureClass) {
        let isUnsent = [.refused, .timeout, .unreachable, .tls].contains(failure)
        #expect(DeliveryVerdict.again(failure, retryAfter: nil).isUnsent == isUnsent)
        #expect(!DeliveryVerdict.ambiguous(failure).isUnsent)
    }
}

import IssueCore
import IssueProtocol
import Testing

struct RandomResponseTests: ForwardingSteps {
    @Test(
        "Whatever a destination responds, every line of every batch has exactly one outcome",
        arguments: 0..<40 as Range<UInt64>)
    func property(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var settings = ForwardSettings()
        settings.sendRate = .unlimited
        settings.retryFor = .seconds(3600)
        var forwarding = Forwarding(settings: settings, at: at(0))
        var now = 0.0
        var ended = 0

        for id in 1...30 as ClosedRange<Int64> {
            let count = Int(traffic.number(below: 500)) + 1
            let poison = traffic.happens(oneIn: 3) ? Int(traffic.number(below: Int64(count))) : nil
            guard case .build = forwarding.recordsArrived(pending(500, since: now), at: at(now)) else { break }
            guard case .send(var shipment) = forwarding.batchStored(batch(id, count), at: at(now)) else { break }
            // Otherwise other records could be sent before a line that gets no response.
            forwarding.learned(.nothing)
            // The remaining lines, by their original indexes.
            var left = Array(0..<count)
            var (delivered, dead): ([Int], [Int]) = ([], [])
            while !left.isEmpty {
                now += 1
                let isBad = poison.map { left[shipment.range].contains($0) } ?? false
                let verdict: DeliveryVerdict =
                    switch traffic.number(below: 12) {
                    case 0: .again(.refused, retryAfter: nil)
                    case 1: .again(.tooManyRequests, retryAfter: .seconds(5))
                    case 2: .ambiguous(.noAnswer)
                    case 3: .paused(.unauthorised)
                    case 4 where shipment.range.count > 100: .tooLarge
                    default: isBad ? .partial(PartialAnswer(successful: shipment.range.count - 1)) : .accepted
                    }
                switch forwarding.answered(answer(verdict), unit: 0.3, at: at(now)) {
                case .settle(_, let settled):
                    delivered += settled.delivered.flatMap { left[$0] }
                    dead += settled.dead.map { left[$0.line] }
                    left = settled.unfinished.ranges.flatMap { left[$0] }
                    guard !left.isEmpty else { continue }
                    let rest = batch(shipment.batch.rawValue + 1000, left.count)
                    guard let next = waited(forwarding.settled(.nothing, rest: rest, at: at(now)), &forwarding, &now)
                    else {
                        Issue.record("nothing is sent for the remaining lines")
                        return
                    }
                    shipment = next
                case .send(let next), .cut(_, thenSend: let next): shipment = next
                case .wait(let until, _), .pause(_, let until, _):
                    guard let next = waited(.wait(until: until), &forwarding, &now) else {
                        Issue.record("nothing is sent after the wait")
                        return
                    }
                    shipment = next
                case .preempt, .stop, .none:
                    Issue.record("sending ended with lines left")
                    return
                }
            }
            #expect((delivered + dead).sorted() == Array(0..<count))
            #expect(dead == (poison.map { [$0] } ?? []))
            _ = forwarding.settled(.nothing, at: at(now))
            ended += 1
        }
        #expect(ended == 30)
    }

    /// Returns the shipment that is sent after a wait.
    private func waited(
        _ action: Forwarding.NextAction, _ forwarding: inout Forwarding, _ now: inout Double
    ) -> Forwarding.Shipment? {
        switch action {
        case .send(let shipment): return shipment
        case .wait(let until):
            now = max(now, until.sinceBoot / .seconds(1) - 1000)
            return waited(forwarding.waited(at: until), &forwarding, &now)
        case .build, .preempt, .merge, .none: return nil
        }
    }
}

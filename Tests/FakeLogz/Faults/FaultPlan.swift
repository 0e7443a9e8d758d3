/// A list of steps. The first one that matches and is not used up applies.
struct FaultPlan: Hashable, Sendable {
    private let steps: [FaultStep]
    private var used: [Int]
    private var seen = 0

    init(_ steps: [FaultStep] = []) {
        self.steps = steps
        used = Array(repeating: 0, count: steps.count)
    }

    /// Registers the beginning of a request. Returns its number, and whether it must not be read.
    mutating func requestBegan() -> (nth: Int, isSilent: Bool) {
        seen += 1
        let nth = seen
        let first = steps.indices.first {
            isLeft($0) && steps[$0].fault.ofPort == nil && steps[$0].match.asksForNothingRead
                && (steps[$0].match.nth ?? nth) == nth
        }
        guard let first, steps[first].fault == .acceptSilent else { return (nth, false) }
        used[first] += 1
        return (nth, true)
    }

    /// Registers the headers of a request. Returns the fault that applies to it.
    mutating func headArrived(_ head: RequestHead, nth: Int) -> Fault? {
        let first = steps.indices.first {
            isLeft($0) && steps[$0].fault.ofPort == nil && steps[$0].fault != .acceptSilent
                && steps[$0].match.fits(head, nth: nth) && steps[$0].fault.hasBegun(nth)
        }
        guard let first else { return nil }
        used[first] += 1
        return steps[first].fault
    }

    /// Returns the change of the port before the next request; nil for none.
    ///
    /// The change comes from a step whose `nth` is the number of the next request, or from a step without `nth` if all
    /// previous steps are used up.
    mutating func portFault() -> PortChange? {
        let next = seen + 1
        let first = steps.indices.first { index in
            guard isLeft(index), steps[index].fault.ofPort != nil else { return false }
            if let nth = steps[index].match.nth { return nth == next }
            return steps.indices[..<index].allSatisfy { !isLeft($0) }
        }
        guard let first else { return nil }
        // Applied once only, since connections that were refused cannot be counted.
        used[first] = .max
        return steps[first].fault.ofPort
    }

    private func isLeft(_ index: Int) -> Bool {
        guard used[index] < .max else { return false }
        return steps[index].times.allows(used: used[index])
    }
}

/// The script of misbehaviour: the first step that fits and is not used up applies.
struct FaultPlan: Hashable, Sendable {
    private let steps: [FaultStep]
    private var used: [Int]
    private var seen = 0

    init(_ steps: [FaultStep] = []) {
        self.steps = steps
        used = Array(repeating: 0, count: steps.count)
    }

    /// A request has begun; says its number, and whether it is to stay unread.
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

    /// The headers of a request have been read; says what goes wrong with it.
    mutating func headArrived(_ head: RequestHead, nth: Int) -> Fault? {
        let first = steps.indices.first {
            isLeft($0) && steps[$0].fault.ofPort == nil && steps[$0].fault != .acceptSilent
                && steps[$0].match.fits(head, nth: nth) && steps[$0].fault.hasBegun(nth)
        }
        guard let first else { return nil }
        used[first] += 1
        return steps[first].fault
    }

    /// Between two requests; says what is to befall the port before the next one.
    ///
    /// That is a step whose number has come, or one without a number when all
    /// before it are used up.
    mutating func portFault() -> DoorChange? {
        let next = seen + 1
        let first = steps.indices.first { index in
            guard isLeft(index), steps[index].fault.ofPort != nil else { return false }
            if let nth = steps[index].match.nth { return nth == next }
            return steps.indices[..<index].allSatisfy { !isLeft($0) }
        }
        guard let first else { return nil }
        // However often it may apply: there is no one to count who was not let in.
        used[first] = .max
        return steps[first].fault.ofPort
    }

    private func isLeft(_ index: Int) -> Bool {
        guard used[index] < .max else { return false }
        return steps[index].times.allows(used: used[index])
    }
}

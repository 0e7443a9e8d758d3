package import UnixIO

extension Outbox {
    /// The daemon answered the oldest call that it owed an answer for, with so many receipts.
    ///
    /// Answers the issues of that call, or nil when the answer fits no call.
    package mutating func answered(receipts: Int, at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall, calls[index].entries.count == receipts else { return nil }
        failuresInARow = 0
        answerArrived(at: now)
        return removeCall(at: index).entries
    }

    /// The daemon can't take the oldest owed call now; it stays and goes again, with all behind it.
    ///
    /// Answers false when no answer was owed.
    package mutating func refusedForNow(
        retryAfter: Duration?, at now: KernelInstant, unit: Double
    ) -> Bool {
        guard owedCall != nil else { return false }
        answerArrived(at: now)
        // The calls behind the refused one are refused as well: one failure, not several.
        if heldUntil == nil || retryAfter != nil {
            let delay = retryAfter ?? nextDelay(unit: unit)
            heldUntil = max(heldUntil ?? now, now.advanced(by: max(delay, .milliseconds(1))))
        }
        return true
    }

    /// The daemon will never take the oldest owed call; answers its issues, or nil when none was owed.
    package mutating func refusedForGood(at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall else { return nil }
        answerArrived(at: now)
        needsNewConnection = true
        let call = removeCall(at: index)
        // Nobody has been told of these yet.
        droppedUnsaid += call.droppedBefore
        return call.entries
    }

    /// The oldest owed call is larger than the daemon allows.
    ///
    /// Answers the issues that are given up: none, as long as the call can be
    /// halved; nil when no answer was owed.
    package mutating func refusedAsTooLarge(limit: Int?, at now: KernelInstant) -> [Entry]? {
        guard let index = owedCall else { return nil }
        // A small number counts something else than bytes, and halving will do.
        if let limit, limit >= 4096 { limits.callBytes = min(limits.callBytes, limit) }
        guard calls[index].entries.count > 1 else { return refusedForGood(at: now) }
        answerArrived(at: now)
        halveCall(at: index)
        heldUntil = now
        return []
    }

    mutating func halveCall(at index: Int) {
        let (first, second) = calls[index].halves
        calls[index] = first
        calls.insert(second, at: index + 1)
    }

    private var owedCall: Int? {
        guard let sequence = owed.first else { return nil }
        return calls.firstIndex { $0.sequence == sequence }
    }

    private mutating func answerArrived(at now: KernelInstant) {
        owed.removeFirst()
        answerDue = owed.isEmpty ? nil : now.advanced(by: limits.answerTimeout)
    }

    private mutating func removeCall(at index: Int) -> Call {
        let call = calls.remove(at: index)
        callsCount -= call.entries.count
        callsBytes -= call.bytes
        return call
    }
}

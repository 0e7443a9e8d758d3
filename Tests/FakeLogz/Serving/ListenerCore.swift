import UnixIO

/// The state that all threads of a listener share.
final class ListenerCore: Sendable {
    let state: Monitor<ListenerState>
    let rules: ListenerRules
    let isStrict: Bool
    /// Signalled when the control port receives a request to quit.
    let quit: EventCounter

    init(_ state: consuming ListenerState, rules: ListenerRules, isStrict: Bool) throws(Errno) {
        self.state = Monitor(state)
        self.rules = rules
        self.isStrict = isStrict
        quit = try EventCounter()
    }

    /// Waits for a duration, but not beyond the end of the listener.
    func pause(_ duration: Duration) {
        let deadline = MonotonicClock.now.advanced(by: duration)
        _ = state.wait(deadline: deadline) { $0.isEnding ? true : nil }
    }

    func end() {
        state.withLock { $0.isEnding = true }
        state.broadcast()
    }
}

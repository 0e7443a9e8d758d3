import IssueProtocol

extension Forwarding {
    /// What `status` says.
    package var view: ForwardingView {
        var view = ForwardingView(state: .idle, lastAnswer: lastAnswer?.text, requests: requests, resent: resent)
        // Until something is taken, a try that is under way changes nothing.
        if let pauseOfAside {
            view.pause(pauseOfAside.reason, until: nil)
            return view
        }
        switch state {
        case .idle, .stopped, .lingering(_, isPaced: false):
            view.reason = failing?.rawValue
        case .lingering(let until, isPaced: true):
            view.wait("send_rate", until: until)
        case .preparing, .sending, .settling(.plan), .settling(.goOn), .settling(.stop):
            view.state = .sending
            if let failing { view.wait(failing.rawValue, until: nil) }
        case .waiting(let until, let wait), .settling(.wait(let until, let wait)):
            switch wait {
            case .resuming: view.wait("resuming", until: until)
            case .failure(let failure, _): view.wait(failure.rawValue, until: until)
            }
        case .paused(let reason, let until), .settling(.pause(let reason, let until)):
            view.pause(reason, until: until)
        case .probing(let reason):
            view.pause(reason, until: nil)
        }
        return view
    }
}

extension ForwardingView {
    fileprivate mutating func wait(_ reason: String, until: MonotonicInstant?) {
        state = .waiting
        self.reason = reason
        nextAttempt = until
    }

    fileprivate mutating func pause(_ reason: PauseReason, until: MonotonicInstant?) {
        state = .paused
        self.reason = reason.rawValue
        advice = reason.advice
        nextAttempt = until
    }
}

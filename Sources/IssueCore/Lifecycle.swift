/// The life of the daemon: what is done in which order when it starts, reads its configuration again and ends.
///
/// The end is always the same: take nothing more in, let what came in come to
/// its commit and its receipt, flush what is kept in memory, close.
package struct Lifecycle: Equatable, Sendable {
    package enum Stage: Equatable, Sendable {
        /// No connection and no record is taken any more.
        case stopAccepting
        /// What was taken gets its commit and its receipts.
        case drain
        /// What is held back is told, what waits is stored.
        case flush
        case close
    }

    package enum State: Equatable, Sendable {
        case starting
        case ready
        case reloading
        case draining(Stage)
        case stopped
    }

    package enum StartAction: Equatable, Sendable {
        /// Tell the service manager that reports are taken.
        case announceReady
        /// Tell it, and then read the configuration again, as was asked for meanwhile.
        case announceReadyThenReload
        /// The end has begun meanwhile.
        case rest
    }

    package enum ReloadAction: Equatable, Sendable {
        /// Tell the service manager, read the configuration, then `reloaded`.
        case reload
        /// It will be done as soon as what is under way allows.
        case later
        case ignore
    }

    package enum ReloadedAction: Equatable, Sendable {
        case announceReady
        /// The configuration was changed again while it was read.
        case reload
        /// The end has begun meanwhile.
        case rest
    }

    package enum StopAction: Equatable, Sendable {
        case perform(Stage)
        /// It is ending already; nothing is done twice or out of turn.
        case rest
    }

    package enum StageAction: Equatable, Sendable {
        case perform(Stage)
        case exit
        /// The stage was cut short before it said that it was done.
        case rest
    }

    package private(set) var state: State = .starting
    private var isReloadWanted = false

    package init() {}

    /// Everything is open, and reports can be taken.
    package mutating func started() -> StartAction {
        switch state {
        case .starting:
            guard isReloadWanted else {
                state = .ready
                return .announceReady
            }
            isReloadWanted = false
            state = .reloading
            return .announceReadyThenReload
        case .draining, .stopped:
            // The stop was quicker than the start.
            return .rest
        case .ready, .reloading:
            preconditionFailure("The daemon started twice")
        }
    }

    package mutating func reloadRequested() -> ReloadAction {
        switch state {
        case .ready:
            state = .reloading
            return .reload
        case .starting, .reloading:
            isReloadWanted = true
            return .later
        case .draining, .stopped:
            return .ignore
        }
    }

    /// The configuration was read; whether it was good or the old one was kept is the same here.
    package mutating func reloaded() -> ReloadedAction {
        switch state {
        case .reloading:
            guard isReloadWanted else {
                state = .ready
                return .announceReady
            }
            isReloadWanted = false
            return .reload
        case .draining, .stopped:
            return .rest
        case .starting, .ready:
            preconditionFailure("A configuration was read that this machine never asked for")
        }
    }

    /// A signal, an error that can't be lived with, or nothing to do.
    package mutating func stopRequested() -> StopAction {
        switch state {
        case .starting, .ready, .reloading:
            state = .draining(.stopAccepting)
            return .perform(.stopAccepting)
        case .draining, .stopped:
            return .rest
        }
    }

    /// A stage of the end is done.
    package mutating func finished(_ stage: Stage) -> StageAction {
        switch state {
        case .draining(let present) where present == stage:
            return go(onAfter: stage)
        case .draining, .stopped:
            return .rest
        case .starting, .ready, .reloading:
            preconditionFailure("A stage of the end was done before the end began")
        }
    }

    /// The service manager will not wait much longer: leaves out what the next start can do as well.
    package mutating func patienceEnded() -> StageAction {
        switch state {
        case .draining(.stopAccepting), .draining(.drain), .draining(.flush):
            state = .draining(.close)
            return .perform(.close)
        case .draining(.close):
            state = .stopped
            return .exit
        case .starting, .ready, .reloading, .stopped:
            return .rest
        }
    }

    private mutating func go(onAfter stage: Stage) -> StageAction {
        let next: Stage
        switch stage {
        case .stopAccepting: next = .drain
        case .drain: next = .flush
        case .flush: next = .close
        case .close:
            state = .stopped
            return .exit
        }
        state = .draining(next)
        return .perform(next)
    }
}

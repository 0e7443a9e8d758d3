/// The daemon's lifecycle as a state machine: start, reload and shutdown.
///
/// A shutdown always runs the same stages: stop accepting reports, commit what was accepted and
/// send the receipts, flush what is kept in memory, close.
package struct Lifecycle: Equatable, Sendable {
    package enum Stage: Equatable, Sendable {
        /// Refuses new connections and new records.
        case stopAccepting
        /// Commits the records that were accepted and sends their receipts.
        case drain
        /// Sends the pending summaries and stores all state that is only in memory.
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
        /// Notify the service manager that the daemon is ready.
        case announceReady
        /// Notify the service manager, then reload the configuration because a reload was requested
        /// during the start.
        case announceReadyThenReload
        /// Do nothing: a shutdown has already begun.
        case none
    }

    package enum ReloadAction: Equatable, Sendable {
        /// Notify the service manager, reload the configuration, then call `reloaded()`.
        case reload
        /// Do nothing now: the reload runs when the start or the current reload is finished.
        case later
        case ignore
    }

    package enum ReloadedAction: Equatable, Sendable {
        case announceReady
        /// Reload again: another reload was requested during this one.
        case reload
        /// Do nothing: a shutdown has already begun.
        case none
    }

    package enum ShutdownAction: Equatable, Sendable {
        case perform(Stage)
        /// Do nothing: a shutdown is already in progress.
        case none
    }

    package enum StageAction: Equatable, Sendable {
        case perform(Stage)
        case exit
        /// Do nothing: the stage was cut short before it reported its end.
        case none
    }

    package private(set) var state: State = .starting
    private var isReloadWanted = false

    package init() {}

    /// Handles the end of the start: everything is open and reports can be accepted.
    ///
    /// - Returns: The action the caller must perform.
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
            // A stop was requested before the start was finished.
            return .none
        case .ready, .reloading:
            preconditionFailure("The daemon started twice")
        }
    }

    /// Handles a request to reload the configuration.
    ///
    /// - Returns: The action the caller must perform.
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

    /// Handles the end of a reload, whether the new configuration was applied or the old one was
    /// kept.
    ///
    /// - Returns: The action the caller must perform.
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
            return .none
        case .starting, .ready:
            preconditionFailure("A configuration was read that this machine never asked for")
        }
    }

    /// Handles a reason to shut down: a signal, a fatal error or idleness.
    ///
    /// - Returns: The action the caller must perform.
    package mutating func stopRequested() -> ShutdownAction {
        switch state {
        case .starting, .ready, .reloading:
            state = .draining(.stopAccepting)
            return .perform(.stopAccepting)
        case .draining, .stopped:
            return .none
        }
    }

    /// Handles the end of a shutdown stage.
    ///
    /// - Parameter stage: The finished stage. A stage that was cut short is ignored.
    /// - Returns: The action the caller must perform.
    package mutating func finished(_ stage: Stage) -> StageAction {
        switch state {
        case .draining(let present) where present == stage:
            return go(onAfter: stage)
        case .draining, .stopped:
            return .none
        case .starting, .ready, .reloading:
            preconditionFailure("A stage of the end was done before the end began")
        }
    }

    /// Handles the approaching end of the service manager's stop timeout.
    ///
    /// Skips to the last stage: the next start can do the rest. The second call ends the process.
    ///
    /// - Returns: The action the caller must perform.
    package mutating func stopTimeoutApproached() -> StageAction {
        switch state {
        case .draining(.stopAccepting), .draining(.drain), .draining(.flush):
            state = .draining(.close)
            return .perform(.close)
        case .draining(.close):
            state = .stopped
            return .exit
        case .starting, .ready, .reloading, .stopped:
            return .none
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

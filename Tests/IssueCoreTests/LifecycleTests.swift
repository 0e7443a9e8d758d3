import IssueCore
import Testing

struct LifecycleTests {
    @Test("The daemon starts, shuts down stage by stage and stops")
    func order() {
        var lifecycle = Lifecycle()

        #expect(lifecycle.started() == .announceReady)
        #expect(lifecycle.stopRequested() == .perform(.stopAccepting))
        #expect(lifecycle.finished(.stopAccepting) == .perform(.drain))
        #expect(lifecycle.finished(.drain) == .perform(.flush))
        #expect(lifecycle.finished(.flush) == .perform(.close))
        #expect(lifecycle.finished(.close) == .exit)
        #expect(lifecycle.state == .stopped)
    }

    @Test("A reload runs as soon as possible, and again if it was requested during a reload")
    func reload() {
        var lifecycle = Lifecycle()

        #expect(lifecycle.reloadRequested() == .later)
        #expect(lifecycle.started() == .announceReadyThenReload)
        #expect(lifecycle.reloadRequested() == .later)
        #expect(lifecycle.reloadRequested() == .later)
        #expect(lifecycle.reloaded() == .reload)
        #expect(lifecycle.reloaded() == .announceReady)
        #expect(lifecycle.reloadRequested() == .reload)
    }

    @Test("A stop during the start or a reload begins the shutdown, and the end of the start or reload changes nothing")
    func races() {
        var early = Lifecycle()
        #expect(early.stopRequested() == .perform(.stopAccepting))
        #expect(early.started() == .none)

        var busy = Lifecycle()
        _ = busy.started()
        _ = busy.reloadRequested()
        #expect(busy.stopRequested() == .perform(.stopAccepting))
        #expect(busy.reloaded() == .none)
        #expect(busy.reloadRequested() == .ignore)
        #expect(busy.state == .draining(.stopAccepting))
    }

    @Test("A second stop request is ignored; a stop timeout skips the remaining stages")
    func timeout() {
        var lifecycle = Lifecycle()
        _ = lifecycle.started()
        #expect(lifecycle.stopTimeoutApproached() == .none)
        _ = lifecycle.stopRequested()

        #expect(lifecycle.stopRequested() == .none)
        #expect(lifecycle.stopTimeoutApproached() == .perform(.close))
        #expect(lifecycle.finished(.stopAccepting) == .none)
        #expect(lifecycle.stopTimeoutApproached() == .exit)
        #expect(lifecycle.stopTimeoutApproached() == .none)
    }
}

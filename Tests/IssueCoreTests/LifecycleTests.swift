import IssueCore
import Testing

struct LifecycleTests {
    @Test("It starts, ends in order and stops")
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

    @Test("A reload is done once it can be, and again if it was asked for meanwhile")
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

    @Test("A stop during the start or a reload begins the end, and what was under way changes nothing")
    func races() {
        var early = Lifecycle()
        #expect(early.stopRequested() == .perform(.stopAccepting))
        #expect(early.started() == .rest)

        var busy = Lifecycle()
        _ = busy.started()
        _ = busy.reloadRequested()
        #expect(busy.stopRequested() == .perform(.stopAccepting))
        #expect(busy.reloaded() == .rest)
        #expect(busy.reloadRequested() == .ignore)
        #expect(busy.state == .draining(.stopAccepting))
    }

    @Test("A second stop repeats nothing; when patience ends the rest is left out")
    func timeout() {
        var lifecycle = Lifecycle()
        _ = lifecycle.started()
        #expect(lifecycle.patienceEnded() == .rest)
        _ = lifecycle.stopRequested()

        #expect(lifecycle.stopRequested() == .rest)
        #expect(lifecycle.patienceEnded() == .perform(.close))
        #expect(lifecycle.finished(.stopAccepting) == .rest)
        #expect(lifecycle.patienceEnded() == .exit)
        #expect(lifecycle.patienceEnded() == .rest)
    }
}

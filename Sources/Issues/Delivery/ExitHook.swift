internal import Synchronization
internal import UnixIO

/// Gives what is on its way a moment when the process ends.
enum ExitHook {
    private static let isInstalled = Atomic(false)

    static func install() {
        // A child of a fork inherits the hook with the flag.
        guard !isInstalled.exchange(true, ordering: .relaxed) else { return }
        ProcessHooks.atExit {
            LastWords.say(timeout: .milliseconds(500), givesUpWhenAway: true)
        }
    }
}

internal import Glibc

/// What a library wants done at turning points of the process it lives in.
package enum ProcessHooks {
    /// Runs the body when the process ends by returning from main or by `exit`.
    ///
    /// The body must not capture anything and must end soon; a process that is
    /// killed, or ends by `_exit`, never runs it.
    package static func atExit(_ body: @escaping @convention(c) () -> Void) {
        // It fails only for want of memory, and then there is nothing to do.
        _ = Glibc.atexit(body)
    }
}

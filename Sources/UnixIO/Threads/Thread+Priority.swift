import CLinux

extension Thread {
    /// Lets other threads go first from now on, where there are too few processors for all; where that is forbidden,
    /// nothing changes.
    package static func yieldToOthers() {
        // A third of what a thread gets that has not said so.
        _ = clinux_yield_to_others(5)
    }
}

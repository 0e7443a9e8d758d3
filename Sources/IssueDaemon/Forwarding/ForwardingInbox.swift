/// What others have for a forwarder.
struct ForwardingInbox: Sendable {
    var hasNews = false
    /// Called when all that was pending when it was asked for has a fate.
    var flushes: [@Sendable () -> Void] = []
    var isStopping = false

    var isEmpty: Bool { !hasNews && flushes.isEmpty && !isStopping }

    mutating func take() -> ForwardingInbox {
        let taken = self
        self = ForwardingInbox()
        isStopping = taken.isStopping
        return taken
    }
}

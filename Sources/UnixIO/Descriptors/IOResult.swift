/// How an attempt to move bytes ended, for loops that expect "not now" often.
package enum IOResult: Hashable, Sendable {
    /// So many bytes were moved.
    case bytes(Int)
    /// The other side has sent all that it will ever send.
    case end
    /// Nothing can be moved before the descriptor is ready again.
    case wouldBlock
    /// The kernel refuses.
    case failed(Errno)

    init(_ error: Errno) {
        self = error == .wouldBlock ? .wouldBlock : .failed(error)
    }
}

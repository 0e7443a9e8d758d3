import CLinux

/// Receives signals as readable events, instead of in a handler.
package struct SignalReceiver: ~Copyable, Sendable {
    /// Readable as long as a signal waits to be taken.
    package let descriptor: FileDescriptor

    /// Blocks the signals for this thread and those it starts from now on.
    ///
    /// Make it before any other thread: a thread that does not block a signal
    /// would be given it in the usual way, and that ends the process.
    package init(_ signals: [Signal]) throws(Errno) {
        let numbers = signals.map(\.rawValue)
        try calling { unsafe clinux_signals_block(numbers, numbers.count) }
        let rawValue = try calling { unsafe clinux_signal_receiver_create(numbers, numbers.count) }
        descriptor = FileDescriptor(owning: rawValue)
    }

    /// The next signal that arrived, or nil if none is waiting.
    package borrowing func next() throws(Errno) -> Signal? {
        do throws(Errno) {
            return Signal(rawValue: try retrying { clinux_signal_receiver_next(descriptor.rawValue) })
        } catch .wouldBlock {
            return nil
        }
    }
}

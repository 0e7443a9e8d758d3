import CLinux
import Glibc

/// A signal number.
package struct Signal: RawRepresentable, Hashable, Sendable {
    package var rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    package static let hangUp = Signal(rawValue: SIGHUP)
    package static let interrupt = Signal(rawValue: SIGINT)
    package static let pipe = Signal(rawValue: SIGPIPE)
    package static let terminate = Signal(rawValue: SIGTERM)

    /// Makes the whole process ignore the signal. Not for use in libraries.
    package func ignore() throws(Errno) {
        try calling { clinux_signal_ignore(rawValue) }
    }

    /// Sends the signal to a process.
    package func send(to pid: Int32) throws(Errno) {
        precondition(pid > 0, "Zero and negative ids denote process groups")
        try calling { Glibc.kill(pid, rawValue) }
    }
}

/// Receives signals as readable events instead of in a handler (signalfd).
package struct SignalReceiver: ~Copyable, Sendable {
    /// Readable while a signal is pending.
    package let descriptor: FileDescriptor

    /// Blocks the signals for this thread and the threads it starts from now on.
    ///
    /// Create the receiver before any other thread: a thread that does not block a signal would receive it, and the
    /// default action would end the process.
    package init(_ signals: [Signal]) throws(Errno) {
        let numbers = signals.map(\.rawValue)
        try calling { unsafe clinux_signals_block(numbers, numbers.count) }
        let rawValue = try calling { unsafe clinux_signal_receiver_create(numbers, numbers.count) }
        descriptor = FileDescriptor(owning: rawValue)
    }

    /// Returns the next pending signal, or nil if there is none.
    package borrowing func next() throws(Errno) -> Signal? {
        do throws(Errno) {
            return Signal(rawValue: try retrying { clinux_signal_receiver_next(descriptor.rawValue) })
        } catch .wouldBlock {
            return nil
        }
    }
}

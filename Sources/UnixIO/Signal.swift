import CLinux
import Glibc

/// A signal, by its number.
package struct Signal: RawRepresentable, Hashable, Sendable {
    package var rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    package static let abort = Signal(rawValue: SIGABRT)
    package static let child = Signal(rawValue: SIGCHLD)
    package static let hangUp = Signal(rawValue: SIGHUP)
    package static let interrupt = Signal(rawValue: SIGINT)
    package static let kill = Signal(rawValue: SIGKILL)
    package static let pipe = Signal(rawValue: SIGPIPE)
    package static let quit = Signal(rawValue: SIGQUIT)
    package static let terminate = Signal(rawValue: SIGTERM)
    package static let user1 = Signal(rawValue: SIGUSR1)
    package static let user2 = Signal(rawValue: SIGUSR2)
    package static let windowChanged = Signal(rawValue: SIGWINCH)

    /// Makes the whole process deaf to the signal. Not for libraries.
    package func ignore() throws(Errno) {
        try calling { clinux_signal_ignore(rawValue) }
    }

    /// Sends the signal to a process.
    package func send(to pid: Int32) throws(Errno) {
        precondition(pid > 0, "Zero and negative numbers would reach groups of processes")
        try calling { Glibc.kill(pid, rawValue) }
    }
}

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

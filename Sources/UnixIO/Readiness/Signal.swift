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

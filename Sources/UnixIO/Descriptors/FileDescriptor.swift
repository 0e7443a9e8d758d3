import CLinux
import Glibc

/// An open file descriptor, closed exactly once.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number the kernel knows it by; valid as long as this value lives.
    package let rawValue: CInt

    /// Takes over a descriptor that nobody else will close.
    package init(owning rawValue: CInt) {
        precondition(rawValue >= 0, "A negative number is no file descriptor")
        self.rawValue = rawValue
    }

    deinit {
        // Linux closes the descriptor even when close() says EINTR, so a
        // second attempt could close a stranger's: see close(2).
        _ = Glibc.close(rawValue)
    }

    /// Gives the descriptor to a caller, who now must close it.
    package consuming func release() -> CInt {
        let rawValue = self.rawValue
        discard self
        return rawValue
    }

    /// Closes now, and says what close() had to say about earlier writes.
    package consuming func close() throws(Errno) {
        let rawValue = release()
        try calling { Glibc.close(rawValue) }
    }

    /// A second descriptor for the same open file.
    package borrowing func duplicate() throws(Errno) -> FileDescriptor {
        let copy = try retrying { clinux_duplicate(rawValue) }
        return FileDescriptor(owning: copy)
    }

    package borrowing func setNonBlocking(_ nonBlocking: Bool = true) throws(Errno) {
        try retrying { clinux_set_non_blocking(rawValue, nonBlocking ? 1 : 0) }
    }

    package borrowing func setCloseOnExec(_ closeOnExec: Bool = true) throws(Errno) {
        try retrying { clinux_set_close_on_exec(rawValue, closeOnExec ? 1 : 0) }
    }
}

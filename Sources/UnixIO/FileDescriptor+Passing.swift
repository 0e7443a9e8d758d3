import CLinux
import Glibc

/// Passes open files to another process over a Unix socket (`SCM_RIGHTS`, see unix(7)).
extension FileDescriptor {
    /// Sends as many bytes as the socket accepts now, together with a file descriptor.
    ///
    /// The receiver gets its own descriptor of the same open file. If the result is `.wouldBlock`, the descriptor was
    /// not passed.
    package borrowing func attemptSend(_ bytes: Span<UInt8>, passing file: borrowing FileDescriptor) -> IOResult {
        precondition(!bytes.isEmpty, "A descriptor can only be sent together with at least one byte")
        do throws(Errno) {
            return .bytes(
                try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
                    try retrying {
                        unsafe clinux_send_descriptor(rawValue, bytes.baseAddress, bytes.count, file.rawValue)
                    }
                })
        } catch {
            return IOResult(error)
        }
    }

    /// Reads into a part of an array, and receives the descriptor that was passed with these bytes, if any.
    ///
    /// - Parameters:
    ///   - buffer: The array to read into. Its count does not change.
    ///   - offset: The index at which to begin.
    ///   - limit: The maximum number of bytes.
    ///   - file: Set to the received descriptor; one that it held before is closed. The descriptor is closed on exec.
    ///     It can refer to anything that the sender could open, so check its status before using it.
    /// - Returns: The number of bytes; 0 at the end of the stream.
    package borrowing func receive(
        into buffer: inout [UInt8], at offset: Int, atMost limit: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "The range must be within the buffer")
        let room = min(limit, buffer.count - offset)
        var received: CInt = -1
        var span = buffer.mutableSpan
        let count = try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying {
                unsafe clinux_receive_descriptor(
                    rawValue, bytes.baseAddress.map { unsafe $0 + offset }, room, &received)
            }
        }
        if received >= 0 { file = FileDescriptor(owning: received) }
        return count
    }
}

/// An open file that is passed along with a message. It is closed with the last reference to it.
///
/// A received file can be anything that the peer has opened. Check its status before reading it.
package final class PassedFile: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

import CLinux
import Glibc

/// Passing open files to another process over a Unix socket (`SCM_RIGHTS`, see unix(7)).
extension FileDescriptor {
    /// Sends as many of the bytes as the socket takes now, and another descriptor along with the first of them.
    ///
    /// The receiver gets a descriptor of its own for the same open file. Nothing is passed when "not now" is the
    /// result.
    package borrowing func attemptSend(_ bytes: Span<UInt8>, passing file: borrowing FileDescriptor) -> IOResult {
        precondition(!bytes.isEmpty, "A stream carries a descriptor only along with a byte")
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

    /// Reads into a part of an array, and takes the descriptor that was passed along with these bytes, if any.
    ///
    /// - Parameter file: Set to the descriptor that came; one that it held before is closed then. It is closed on exec,
    ///   and may be anything that the sender could open: look at its status before it is used.
    /// - Returns: The number of bytes; 0 is the end.
    package borrowing func receive(
        into buffer: inout [UInt8], at offset: Int, atMost limit: Int, passed file: inout FileDescriptor?
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "A read needs room inside the buffer")
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
/// One that was received is whatever the other side has opened: look at its status before it is read.
package final class PassedFile: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

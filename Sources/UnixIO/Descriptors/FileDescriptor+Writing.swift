import CLinux
import Glibc

extension FileDescriptor {
    /// Writes as many of the bytes as the kernel takes now.
    package borrowing func write(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.write(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    package borrowing func write(_ bytes: [UInt8]) throws(Errno) -> Int {
        try write(bytes.span)
    }

    package borrowing func write(_ bytes: [UInt8], in range: Range<Int>) throws(Errno) -> Int {
        try write(bytes.span.extracting(range))
    }

    /// Writes two parts as if they were one, without joining them first.
    package borrowing func write(_ head: Span<UInt8>, _ body: Span<UInt8>) throws(Errno) -> Int {
        try unsafe head.withUnsafeBytes { head throws(Errno) in
            try unsafe body.withUnsafeBytes { body throws(Errno) in
                try retrying {
                    unsafe clinux_write_two(rawValue, head.baseAddress, head.count, body.baseAddress, body.count)
                }
            }
        }
    }

    /// Writes everything, waiting wherever a non-blocking descriptor is full.
    ///
    /// For files and pipes. A socket takes ``sendAll(_:timeout:)``, which
    /// never raises SIGPIPE.
    package borrowing func writeAll(_ bytes: [UInt8]) throws(Errno) {
        var written = 0
        while written < bytes.count {
            do throws(Errno) {
                written += try write(bytes.span.extracting(written..<bytes.count))
            } catch .wouldBlock {
                try Readiness.wait(self, for: .write)
            }
        }
    }

    /// Writes for a loop: "not now" is a result, not an error.
    package borrowing func attemptWrite(_ bytes: [UInt8], from offset: Int = 0) -> IOResult {
        do throws(Errno) {
            return .bytes(try write(bytes.span.extracting(offset..<bytes.count)))
        } catch {
            return IOResult(error)
        }
    }
}

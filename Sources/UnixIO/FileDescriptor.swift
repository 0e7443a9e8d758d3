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

extension FileDescriptor {
    /// Opens a file; `mode` counts only where the flags create one.
    package static func open(
        _ path: String, _ flags: OpenFlags = .readOnly, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open(path, flags.rawValue, mode) }
        return FileDescriptor(owning: rawValue)
    }

    /// Opens a file by its name in this folder.
    package borrowing func open(_ name: String, _ flags: OpenFlags = .readOnly) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open_at(self.rawValue, name, flags.rawValue, 0) }
        return FileDescriptor(owning: rawValue)
    }

    /// The target of a symbolic link in this folder, byte for byte.
    package borrowing func readLink(_ name: String) throws(Errno) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = try calling { unsafe readlinkat(rawValue, name, &bytes, bytes.count) }
        return bytes.prefix(count).map { UInt8(bitPattern: $0) }
    }

    /// Returns once data and metadata are on the disk.
    package borrowing func synchronize() throws(Errno) {
        try retrying { fsync(rawValue) }
    }

    /// Returns once the data is on the disk, and what is needed to read it.
    package borrowing func synchronizeData() throws(Errno) {
        try retrying { fdatasync(rawValue) }
    }

    package borrowing func truncate(to size: Int64) throws(Errno) {
        try retrying { ftruncate(rawValue, off_t(size)) }
    }

    package borrowing func setMode(_ mode: UInt32) throws(Errno) {
        try retrying { fchmod(rawValue, mode) }
    }

    package borrowing func status() throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe fstat(rawValue, &status) }
        return FileStatus(status)
    }
}

extension FileDescriptor {
    /// Reads as many bytes as are there and fit; 0 is the end.
    package borrowing func read(into buffer: inout MutableSpan<UInt8>) throws(Errno) -> Int {
        precondition(!buffer.isEmpty, "A read needs room, or its 0 would look like the end")
        return try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.read(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    /// Reads into the part of an array that starts at an offset; 0 is the end.
    ///
    /// The array keeps its count, so a buffer made once is never zeroed again.
    package borrowing func read(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "A read needs room inside the buffer")
        let count = min(limit, buffer.count - offset)
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.read(rawValue, bytes.baseAddress.map { unsafe $0 + offset }, count) }
        }
    }

    /// Reads into the spare room behind an array's last byte; 0 is the end.
    package borrowing func read(appendingTo buffer: inout [UInt8], atMost limit: Int) throws(Errno) -> Int {
        precondition(limit > 0, "A read needs room, or its 0 would look like the end")
        let before = buffer.count
        try buffer.append(addingCapacity: limit) { (output: inout OutputSpan<UInt8>) throws(Errno) in
            try unsafe output.withUnsafeMutableBufferPointer { bytes, initialized throws(Errno) in
                initialized += try retrying {
                    unsafe Glibc.read(rawValue, bytes.baseAddress.map { unsafe $0 + initialized }, limit)
                }
            }
        }
        return buffer.count - before
    }

    /// Reads for a loop: end and "not now" are results, not errors.
    package borrowing func attemptRead(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) -> IOResult {
        do throws(Errno) {
            let count = try read(into: &buffer, at: offset, atMost: limit)
            return count == 0 ? .end : .bytes(count)
        } catch {
            return IOResult(error)
        }
    }

    /// Reads behind an array's last byte, for a loop.
    package borrowing func attemptRead(appendingTo buffer: inout [UInt8], atMost limit: Int) -> IOResult {
        do throws(Errno) {
            let count = try read(appendingTo: &buffer, atMost: limit)
            return count == 0 ? .end : .bytes(count)
        } catch {
            return IOResult(error)
        }
    }

    /// Reads until the buffer holds so many bytes; false where the file ends before.
    package borrowing func fill(_ buffer: inout [UInt8], to count: Int) throws(Errno) -> Bool {
        while buffer.count < count {
            guard try read(appendingTo: &buffer, atMost: count - buffer.count) > 0 else { return false }
        }
        return true
    }
}

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

/// How a file is to be opened. It is closed on exec in any case.
package struct OpenFlags: OptionSet, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// A name for the file alone: it can be looked at and into, not read.
    package static let pathOnly = OpenFlags(rawValue: 0o10_000_000)
    package static let readOnly: OpenFlags = []
    package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
    package static let readWrite = OpenFlags(rawValue: O_RDWR)
    package static let append = OpenFlags(rawValue: O_APPEND)
    package static let create = OpenFlags(rawValue: O_CREAT)
    package static let directory = OpenFlags(rawValue: O_DIRECTORY)
    package static let exclusive = OpenFlags(rawValue: O_EXCL)
    package static let noFollow = OpenFlags(rawValue: O_NOFOLLOW)
    package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
    package static let truncate = OpenFlags(rawValue: O_TRUNC)
}

/// Two descriptors that were made together: a pipe, or a pair of sockets.
package struct DescriptorPair: ~Copyable, Sendable {
    /// The reading end of a pipe.
    package var first: FileDescriptor
    /// The writing end of a pipe.
    package var second: FileDescriptor

    /// A pipe: what is written to the second comes out of the first.
    package static func pipe(nonBlocking: Bool = false) throws(Errno) -> DescriptorPair {
        var first: CInt = -1
        var second: CInt = -1
        try calling { unsafe clinux_pipe(&first, &second, nonBlocking ? 1 : 0) }
        return DescriptorPair(first: FileDescriptor(owning: first), second: FileDescriptor(owning: second))
    }

    /// Two Unix sockets that are connected to each other.
    package static func sockets(
        _ kind: SocketKind = .stream, nonBlocking: Bool = true
    ) throws(Errno) -> DescriptorPair {
        var first: CInt = -1
        var second: CInt = -1
        try calling { unsafe clinux_socket_pair(&first, &second, kind.isStream, nonBlocking ? 1 : 0) }
        return DescriptorPair(first: FileDescriptor(owning: first), second: FileDescriptor(owning: second))
    }
}

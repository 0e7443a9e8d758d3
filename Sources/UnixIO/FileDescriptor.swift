import CLinux
import Glibc

/// An open file descriptor that is closed exactly once.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor; valid only during the lifetime of this value.
    package let rawValue: CInt

    /// Takes ownership of an open descriptor.
    package init(owning rawValue: CInt) {
        precondition(rawValue >= 0, "A file descriptor must not be negative")
        self.rawValue = rawValue
    }

    deinit {
        // Linux closes the descriptor even if close() fails with EINTR; see close(2). A second attempt could close an
        // unrelated descriptor.
        _ = Glibc.close(rawValue)
    }

    /// Gives up ownership and returns the descriptor, which the caller must close.
    package consuming func release() -> CInt {
        let rawValue = self.rawValue
        discard self
        return rawValue
    }

    /// Closes the descriptor.
    ///
    /// - Throws: The error of close(2), which may result from an earlier write.
    package consuming func close() throws(Errno) {
        let rawValue = release()
        try calling { Glibc.close(rawValue) }
    }

    /// Returns a new descriptor for the same open file.
    package borrowing func duplicate() throws(Errno) -> FileDescriptor {
        let copy = try retrying { clinux_duplicate(rawValue) }
        return FileDescriptor(owning: copy)
    }

    /// Sets or clears O_NONBLOCK.
    package borrowing func setNonBlocking(_ nonBlocking: Bool = true) throws(Errno) {
        try retrying { clinux_set_non_blocking(rawValue, nonBlocking ? 1 : 0) }
    }

    /// Sets FD_CLOEXEC.
    package borrowing func setCloseOnExec() throws(Errno) {
        try retrying { fcntl(rawValue, F_SETFD, FD_CLOEXEC) }
    }
}

extension FileDescriptor {
    /// Opens a file.
    ///
    /// - Parameter mode: The permissions of a new file, before the umask applies. Used only if `flags` contains
    ///   `create` or `unnamed`.
    package static func open(
        _ path: String, _ flags: OpenFlags = .readOnly, mode: UInt32 = 0o600
    ) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open(path, flags.rawValue, mode) }
        return FileDescriptor(owning: rawValue)
    }

    /// Opens an existing file in the folder that this descriptor refers to. Throws for a symbolic link.
    package borrowing func open(_ name: String, _ flags: OpenFlags = .readOnly) throws(Errno) -> FileDescriptor {
        let rawValue = try retrying { unsafe clinux_open_at(self.rawValue, name, flags.rawValue, 0) }
        return FileDescriptor(owning: rawValue)
    }

    /// Returns the target of a symbolic link in this folder, as bytes.
    package borrowing func readLink(_ name: String) throws(Errno) -> [UInt8] {
        try FileSystem.readLink(name, in: rawValue)
    }

    /// Flushes the data and metadata of the file to the disk (fsync).
    package borrowing func synchronize() throws(Errno) {
        try retrying { fsync(rawValue) }
    }

    /// Sets the permissions of the file.
    package borrowing func setMode(_ mode: UInt32) throws(Errno) {
        try retrying { fchmod(rawValue, mode) }
    }

    /// Returns the status of the file.
    package borrowing func status() throws(Errno) -> FileStatus {
        var status = Glibc.stat()
        try retrying { unsafe fstat(rawValue, &status) }
        return FileStatus(status)
    }
}

extension FileDescriptor {
    /// Reads into an array.
    ///
    /// The count of the array does not change, so a reused buffer is zeroed only once.
    ///
    /// - Parameters:
    ///   - buffer: The array to read into.
    ///   - offset: The index at which to begin.
    ///   - limit: The maximum number of bytes.
    /// - Returns: The number of bytes; 0 at the end of the file.
    package borrowing func read(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) throws(Errno) -> Int {
        precondition(offset >= 0 && offset < buffer.count && limit > 0, "The range must be within the buffer")
        let count = min(limit, buffer.count - offset)
        var span = buffer.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.read(rawValue, bytes.baseAddress.map { unsafe $0 + offset }, count) }
        }
    }

    /// Appends up to `limit` bytes to an array.
    ///
    /// - Returns: The number of bytes; 0 at the end of the file.
    package borrowing func read(appendingTo buffer: inout [UInt8], atMost limit: Int) throws(Errno) -> Int {
        precondition(limit > 0, "The limit must be positive, because a result of 0 means the end")
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

    /// Reads into an array. Returns errors, the end of the file and "would block" as results.
    package borrowing func attemptRead(
        into buffer: inout [UInt8], at offset: Int = 0, atMost limit: Int = .max
    ) -> IOResult {
        IOResult(reading: { () throws(Errno) in try read(into: &buffer, at: offset, atMost: limit) })
    }

    /// Appends up to `limit` bytes to an array. Returns errors, the end of the file and "would block" as results.
    package borrowing func attemptRead(appendingTo buffer: inout [UInt8], atMost limit: Int) -> IOResult {
        IOResult(reading: { () throws(Errno) in try read(appendingTo: &buffer, atMost: limit) })
    }

    /// Reads until the buffer has `count` bytes.
    ///
    /// - Returns: `false` if the file ends earlier.
    package borrowing func fill(_ buffer: inout [UInt8], to count: Int) throws(Errno) -> Bool {
        while buffer.count < count {
            guard try read(appendingTo: &buffer, atMost: count - buffer.count) > 0 else { return false }
        }
        return true
    }
}

extension FileDescriptor {
    /// Writes as many of the bytes as the kernel accepts now, and returns their number.
    package borrowing func write(_ bytes: Span<UInt8>) throws(Errno) -> Int {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            try retrying { unsafe Glibc.write(rawValue, bytes.baseAddress, bytes.count) }
        }
    }

    /// Writes as many of the bytes as the kernel accepts now, and returns their number.
    package borrowing func write(_ bytes: [UInt8]) throws(Errno) -> Int {
        try write(bytes.span)
    }

    /// Writes as many bytes of a range as the kernel accepts now, and returns their number.
    package borrowing func write(_ bytes: [UInt8], in range: Range<Int>) throws(Errno) -> Int {
        try write(bytes.span.extracting(range))
    }

    /// Writes all bytes. Waits whenever a non-blocking descriptor would block.
    ///
    /// For files and pipes. For sockets, use ``sendAll(_:timeout:)``, which never raises SIGPIPE.
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
}

/// The result of an attempt to read or write. For loops in which "would block" is frequent.
package enum IOResult: Hashable, Sendable {
    /// The number of bytes that were read or written.
    case bytes(Int)
    /// The end of the file, or of the bytes that the peer sends.
    case end
    /// Nothing can be read or written until the descriptor is ready.
    case wouldBlock
    /// The call failed.
    case failed(Errno)

    /// Calls `write`, which returns the number of bytes written, and stores its result or error.
    init(writing write: () throws(Errno) -> Int) {
        do throws(Errno) {
            self = .bytes(try write())
        } catch {
            self = error == .wouldBlock ? .wouldBlock : .failed(error)
        }
    }

    /// Calls `read`, which returns the number of bytes read, and stores its result or error. 0 means the end.
    package init(reading read: () throws(Errno) -> Int) {
        self.init(writing: read)
        if self == .bytes(0) { self = .end }
    }
}

/// Flags for opening a file. Files are always closed on exec.
package struct OpenFlags: OptionSet, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// Opens a file only for lookups and for its status, not for reading or writing (`O_PATH`).
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
    /// Creates a file without a name in the folder at the path (`O_TMPFILE`).
    package static let unnamed = OpenFlags(rawValue: O_DIRECTORY | 0o20_000_000)
}

/// A reference to a descriptor, which is closed when the last reference is released.
package final class SharedDescriptor: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

/// The two descriptors of a pipe.
package struct DescriptorPair: ~Copyable, Sendable {
    /// The read end.
    package var first: FileDescriptor
    /// The write end.
    package var second: FileDescriptor

    /// Creates a pipe. Bytes written to the second descriptor can be read from the first.
    package static func pipe() throws(Errno) -> DescriptorPair {
        var first: CInt = -1
        var second: CInt = -1
        try calling { unsafe clinux_pipe(&first, &second) }
        return DescriptorPair(first: FileDescriptor(owning: first), second: FileDescriptor(owning: second))
    }
}

/// The standard streams, whose descriptors are never closed.
package enum StandardStream: CInt, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// Whether the stream is a terminal.
    package var isTerminal: Bool {
        isatty(rawValue) == 1
    }

    /// Whether the stream is a terminal and this process is in the terminal's foreground process group, so that the
    /// user can be asked.
    package var isForegroundTerminal: Bool {
        isTerminal && tcgetpgrp(rawValue) == getpgrp()
    }

    /// The width of the terminal in columns; nil if the stream is not a terminal or the width is unknown.
    package var columns: Int? {
        let columns = clinux_terminal_columns(rawValue)
        return columns > 0 ? Int(columns) : nil
    }

    /// The height of the terminal in rows; nil if the stream is not a terminal or the height is unknown.
    package var rows: Int? {
        let rows = clinux_terminal_rows(rawValue)
        return rows > 0 ? Int(rows) : nil
    }

    /// Returns a new descriptor for the same stream.
    package func duplicate() throws(Errno) -> FileDescriptor {
        let copy = try retrying { clinux_duplicate(rawValue) }
        return FileDescriptor(owning: copy)
    }

    /// Writes all bytes. Waits whenever the stream would block.
    package func writeAll(_ bytes: [UInt8]) throws(Errno) {
        // The descriptor is only borrowed, so it must be released instead of closed.
        let descriptor = FileDescriptor(owning: rawValue)
        do throws(Errno) {
            try descriptor.writeAll(bytes)
        } catch {
            _ = descriptor.release()
            throw error
        }
        _ = descriptor.release()
    }

    /// Writes a text as UTF-8. Waits whenever the stream would block.
    package func writeAll(_ text: String) throws(Errno) {
        try writeAll(Array(text.utf8))
    }
}

extension StandardStream {
    /// Opens `/dev/null` for each standard stream that was closed when the process started.
    ///
    /// Otherwise a file opened later could get the number of a standard stream. Must be called before any file is
    /// opened.
    package static func fillClosed() {
        while let filler = try? FileDescriptor.open("/dev/null") {
            guard filler.rawValue <= error.rawValue else { return }
            _ = filler.release()
        }
    }
}

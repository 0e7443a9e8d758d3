import CZlib

/// Compresses one body with gzip, part by part.
@safe
package struct GzipCompressor: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, and zlib does not tie a stream to a thread. The stream is on
    // the heap because zlib checks that it has not moved.
    private let stream: UnsafeMutablePointer<z_stream>

    /// The number of bytes by which the output grows at a time.
    private static let pieceBytes = 64 << 10

    /// Creates a compressor, which uses 256 KiB of memory.
    ///
    /// - Parameter level: The effort, from 1 to 9; 0 stores the bytes uncompressed.
    package init(level: Int) throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe czlib_gzip_deflate_init(stream, CInt(min(max(level, 0), 9))) == Z_OK else {
            // deflateEnd on an uninitialized stream is harmless.
            throw .outOfMemory
        }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Compresses the next part of the body, of at most 4 GiB, and appends the output. Some of it may follow later.
    package mutating func append(_ bytes: [UInt8], to output: inout [UInt8]) throws(GzipError) {
        try run(bytes, Z_NO_FLUSH, to: &output)
    }

    /// Ends the body, and appends the remaining output. No part can follow.
    package mutating func finish(into output: inout [UInt8]) throws(GzipError) {
        try run([], Z_FINISH, to: &output)
    }

    private mutating func run(_ bytes: [UInt8], _ flush: CInt, to output: inout [UInt8]) throws(GzipError) {
        guard let count = UInt32(exactly: bytes.count) else { throw .failed }
        var result = Z_OK
        unsafe bytes.withUnsafeBufferPointer { input in
            // zlib only reads the input, although it is not declared const.
            unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.pointee.avail_in = count
            repeat {
                output.append(addingCapacity: Self.pieceBytes) { piece in
                    unsafe piece.withUnsafeMutableBufferPointer { room, initialized in
                        unsafe stream.pointee.next_out = room.baseAddress
                        unsafe stream.pointee.avail_out = UInt32(room.count)
                        result = unsafe deflate(stream, flush)
                        initialized = unsafe room.count - Int(stream.pointee.avail_out)
                    }
                }
            } while unsafe result == Z_OK && stream.pointee.avail_out == 0
        }
        // Z_BUF_ERROR means that there was nothing left to do.
        let isDone = flush == Z_FINISH ? result == Z_STREAM_END : result == Z_OK || result == Z_BUF_ERROR
        guard isDone else { throw .failed }
    }
}

/// The reason why bytes could not be compressed.
package enum GzipError: Error, Equatable, Sendable {
    case outOfMemory
    /// The body has already ended, or a part is larger than zlib accepts at once.
    case failed
}

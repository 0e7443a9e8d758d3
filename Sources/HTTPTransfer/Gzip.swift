import CZlib

/// Gzip compression of bodies in memory.
package enum Gzip {
    /// Returns the bytes compressed.
    ///
    /// - Parameter level: The effort, from 1 to 9; 0 stores the bytes uncompressed.
    package static func compress(_ bytes: [UInt8], level: Int = 6) throws(GzipError) -> [UInt8] {
        var compressor = try GzipCompressor(level: level)
        return try compressor.compress(bytes)
    }
}

extension Gzip {
    /// Returns the bytes decompressed.
    ///
    /// - Parameter limit: The maximum size of the result, in bytes. It is checked while the output grows, so a small
    ///   input cannot exhaust the memory.
    /// - Throws: `overLimit` if the result would be larger.
    package static func decompress(_ bytes: [UInt8], limit: Int) throws(GzipError) -> [UInt8] {
        guard bytes.count <= UInt32.max else { throw .tooLarge }
        var stream = try InflateStream()
        return try unsafe bytes.withUnsafeBufferPointer { input throws(GzipError) in
            try unsafe stream.inflateAll(input, limit: limit)
        }
    }
}

/// Compresses several bodies with the same 256 KiB of working memory.
@safe
package struct GzipCompressor: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, and zlib does not tie a stream to a thread. The stream is on
    // the heap because zlib checks that it has not moved.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Creates a compressor.
    ///
    /// - Parameter level: The effort, from 1 to 9; 0 stores the bytes uncompressed.
    package init(level: Int = 6) throws(GzipError) {
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

    /// Returns a whole body compressed.
    package mutating func compress(_ bytes: [UInt8]) throws(GzipError) -> [UInt8] {
        // Must precede deflateBound: at the end of a stream zlib forgets that the header is gzip's, and would assume a
        // shorter one.
        try reset()
        let bound = unsafe deflateBound(stream, UInt(bytes.count))
        guard bytes.count <= UInt32.max, bound <= UInt32.max else { throw .tooLarge }

        let step = step(bytes.span, Z_FINISH, room: Int(bound))
        guard step.result == Z_STREAM_END else { throw .corrupt }
        return step.output
    }

    mutating func reset() throws(GzipError) {
        guard unsafe deflateReset(stream) == Z_OK else { throw .corrupt }
    }

    /// The result of one call of zlib.
    struct Step {
        var result: CInt
        var output: [UInt8]
        var consumed: Int
        /// `true` if the output was filled, so that more may follow.
        var isFull: Bool
    }

    mutating func step(_ bytes: Span<UInt8>, _ flush: CInt, room: Int) -> Step {
        var step = Step(result: Z_OK, output: [], consumed: 0, isFull: false)
        step.output = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                // zlib only reads the input, although it is not declared const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(room)
                step.result = unsafe deflate(stream, flush)
                count = unsafe room - Int(stream.pointee.avail_out)
                step.consumed = unsafe input.count - Int(stream.pointee.avail_in)
                step.isFull = unsafe stream.pointee.avail_out == 0
                // The stream outlives these addresses.
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.next_out = nil
            }
        }
        return step
    }
}

extension GzipCompressor {
    /// The size of the output buffer of one call.
    private static var pieceBytes: Int { 64 << 10 }

    /// Compresses the next part of a body.
    package mutating func append(_ bytes: [UInt8], to output: inout [UInt8]) throws(GzipError) {
        try run(bytes, Z_NO_FLUSH, to: &output)
    }

    /// Ends the body. The next part begins another one.
    package mutating func finish(into output: inout [UInt8]) throws(GzipError) {
        try run([], Z_FINISH, to: &output)
        try reset()
    }

    private mutating func run(_ bytes: [UInt8], _ flush: CInt, to output: inout [UInt8]) throws(GzipError) {
        guard bytes.count <= UInt32.max else { throw .tooLarge }
        var rest = bytes.count
        while true {
            let step = step(bytes.span.extracting((bytes.count - rest)...), flush, room: Self.pieceBytes)
            output += step.output
            rest -= step.consumed
            guard step.result == Z_OK || step.result == Z_STREAM_END || step.result == Z_BUF_ERROR else {
                throw .corrupt
            }
            let isDone = flush == Z_FINISH ? step.result == Z_STREAM_END : rest == 0 && !step.isFull
            if isDone { return }
        }
    }
}

/// The reason why bytes could not be compressed or decompressed.
package enum GzipError: Error, Equatable, Sendable {
    /// The data ends too early.
    case truncated
    /// The data is not gzip, or its checksum is wrong.
    case corrupt
    /// The result would exceed the caller's limit.
    case overLimit
    /// The input is larger than zlib accepts at once.
    case tooLarge
    case outOfMemory
}

/// The state of a decompression.
@safe
struct InflateStream: ~Copyable {
    // On the heap because zlib checks that a stream has not moved.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        // inflateEnd on an uninitialized stream is harmless.
        guard unsafe czlib_gzip_inflate_init(stream) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    mutating func inflateAll(_ input: UnsafeBufferPointer<UInt8>, limit: Int) throws(GzipError) -> [UInt8] {
        // zlib only reads the input, although it is not declared const.
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        unsafe stream.pointee.avail_in = UInt32(input.count)

        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let (result, count) = inflate(into: &chunk)
            guard output.count + count <= limit else { throw .overLimit }
            output.append(contentsOf: chunk[..<count])

            switch result {
            case Z_STREAM_END:
                // A gzip file may consist of several streams.
                guard unsafe stream.pointee.avail_in > 0 else { return output }
                guard unsafe inflateReset(stream) == Z_OK else { throw .corrupt }
            case Z_OK:
                break
            case Z_BUF_ERROR:
                // No progress: all input was consumed, and the end is missing.
                throw .truncated
            case Z_MEM_ERROR:
                throw .outOfMemory
            default:
                throw .corrupt
            }
        }
    }

    private mutating func inflate(into chunk: inout [UInt8]) -> (result: CInt, count: Int) {
        unsafe chunk.withUnsafeMutableBufferPointer { room in
            unsafe stream.pointee.next_out = room.baseAddress
            unsafe stream.pointee.avail_out = UInt32(room.count)
            let result = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
            return unsafe (result, room.count - Int(stream.pointee.avail_out))
        }
    }
}

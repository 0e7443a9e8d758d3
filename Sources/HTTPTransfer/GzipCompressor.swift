import CZlib

/// Compresses one body after another with the same 256 KiB of working memory.
@safe
package struct GzipCompressor: ~Copyable, @unchecked Sendable {
    // Sendable holds because there is one owner, and zlib ties a stream to no
    // thread. On the heap because zlib checks that a stream has not moved.
    private let stream: UnsafeMutablePointer<z_stream>

    package init(level: Int = 6) throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe czlib_gzip_deflate_init(stream, CInt(min(max(level, 0), 9))) == Z_OK else {
            // Nothing was set up, and the end of nothing is harmless.
            throw .outOfMemory
        }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    package mutating func compress(_ bytes: [UInt8]) throws(GzipError) -> [UInt8] {
        // Before the bound: at the end of a stream zlib forgets that the header
        // is gzip's, and would reckon with a shorter one.
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

    /// What came of giving zlib some bytes and some room.
    struct Step {
        var result: CInt
        var output: [UInt8]
        var consumed: Int
        /// There may be more to come out.
        var isFull: Bool
    }

    mutating func step(_ bytes: Span<UInt8>, _ flush: CInt, room: Int) -> Step {
        var step = Step(result: Z_OK, output: [], consumed: 0, isFull: false)
        step.output = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                // zlib only reads the input, though it does not say const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(room)
                step.result = unsafe deflate(stream, flush)
                count = unsafe room - Int(stream.pointee.avail_out)
                step.consumed = unsafe input.count - Int(stream.pointee.avail_in)
                step.isFull = unsafe stream.pointee.avail_out == 0
                // The stream lives on, the addresses do not.
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.next_out = nil
            }
        }
        return step
    }
}

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
        guard unsafe deflateReset(stream) == Z_OK else { throw .corrupt }
        let bound = unsafe deflateBound(stream, UInt(bytes.count))
        guard bytes.count <= UInt32.max, bound <= UInt32.max else { throw .tooLarge }

        var result = Z_OK
        let output = unsafe [UInt8](unsafeUninitializedCapacity: Int(bound)) { output, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                // zlib only reads the input, though it does not say const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                unsafe result = deflate(stream, Z_FINISH)
                count = unsafe output.count - Int(stream.pointee.avail_out)
                // The stream lives on, the addresses do not.
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.next_out = nil
            }
        }
        guard result == Z_STREAM_END else { throw .corrupt }
        return output
    }
}

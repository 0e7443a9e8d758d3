import CZlib

/// Decompresses gzip with plain zlib: the code under test must not verify itself.
package enum Inflate {
    /// The reason why decompression failed.
    package enum Failure: Error, Hashable, Sendable {
        case overLimit
        case corrupt
    }

    /// Returns the contents of one or several streams.
    ///
    /// - Parameter limit: The maximum size of the result, in bytes.
    package static func gzip(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        var stream = unsafe z_stream()
        guard unsafe czlib_gzip_inflate_init(&stream) == Z_OK else { throw .corrupt }
        defer { unsafe inflateEnd(&stream) }

        // zlib uses both addresses only within this scope.
        return try unsafe bytes.withUnsafeBufferPointer { input throws(Failure) in
            unsafe stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.avail_in = UInt32(input.count)
            var output: [UInt8] = []
            var room = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let result = unsafe room.withUnsafeMutableBufferPointer { room in
                    unsafe stream.next_out = room.baseAddress
                    unsafe stream.avail_out = UInt32(room.count)
                    return unsafe inflate(&stream, Z_NO_FLUSH)
                }
                let count = unsafe room.count - Int(stream.avail_out)
                guard output.count + count <= limit else { throw .overLimit }
                output.append(contentsOf: room[..<count])
                switch result {
                case Z_OK: continue
                case Z_STREAM_END:
                    // Concatenated streams are one text.
                    guard unsafe stream.avail_in > 0 else { return output }
                    guard unsafe inflateReset(&stream) == Z_OK else { throw .corrupt }
                default: throw .corrupt
                }
            }
        }
    }
}

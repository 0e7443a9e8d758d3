extension Gzip {
    /// Decompresses what `limit` bytes can hold. The limit is looked at while
    /// the output grows, so a small input cannot fill the memory.
    package static func decompress(_ bytes: [UInt8], limit: Int) throws(GzipError) -> [UInt8] {
        guard bytes.count <= UInt32.max else { throw .tooLarge }
        var stream = try InflateStream()
        return try unsafe bytes.withUnsafeBufferPointer { input throws(GzipError) in
            try unsafe stream.inflateAll(input, limit: limit)
        }
    }
}

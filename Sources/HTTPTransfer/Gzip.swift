/// Gzip for whole bodies in memory.
package enum Gzip {
    /// Compresses bytes, the harder the higher the level (1 to 9; 0 only wraps
    /// them).
    package static func compress(_ bytes: [UInt8], level: Int = 6) throws(GzipError) -> [UInt8] {
        var compressor = try GzipCompressor(level: level)
        return try compressor.compress(bytes)
    }
}

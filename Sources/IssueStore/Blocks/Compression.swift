import CLZ4
import CZlib
import IssueProtocol

/// Compresses blocks and computes their checksums. No other code of the store passes pointers to C.
enum Compression {
    /// The maximum ratio of decompressed to compressed size in LZ4. A block that claims more is invalid.
    static let maxExpansion = 255

    /// The maximum size before compression, in bytes. LZ4 itself accepts almost 2 GiB.
    static let maxBytes = 1 << 30

    /// Returns the compressed bytes; nil if they would not be smaller than the input.
    ///
    /// - Parameter bytes: The bytes to compress; at most `maxBytes`.
    static func compress(_ bytes: Span<UInt8>) -> [UInt8]? {
        precondition(bytes.count <= maxBytes, "The input is too large for LZ4")
        let room = Int(LZ4_compressBound(CInt(bytes.count)))
        let output = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, initialized in
            initialized = unsafe bytes.withUnsafeBytes { input in
                guard let target = output.baseAddress, let source = input.baseAddress else { return 0 }
                return Int(
                    unsafe LZ4_compress_default(
                        source.assumingMemoryBound(to: CChar.self),
                        UnsafeMutableRawPointer(target).assumingMemoryBound(to: CChar.self), CInt(bytes.count),
                        CInt(room)))
            }
        }
        return output.isEmpty || output.count >= bytes.count ? nil : output
    }

    /// Returns the decompressed bytes; nil if the input is invalid.
    ///
    /// - Parameters:
    ///   - bytes: Untrusted bytes. They are compressed unless there are exactly `count` of them.
    ///   - count: The number of bytes before compression, which is the size of the result.
    static func decompress(_ bytes: Span<UInt8>, count: Int) -> [UInt8]? {
        guard count != bytes.count else { return bytes.copy() }
        guard count > bytes.count, bytes.count > 0, count <= maxBytes, count / maxExpansion <= bytes.count else {
            return nil
        }
        var isWhole = false
        let output = unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            let written = unsafe bytes.withUnsafeBytes { input in
                guard let target = output.baseAddress, let source = input.baseAddress else { return -1 }
                return Int(
                    unsafe LZ4_decompress_safe(
                        source.assumingMemoryBound(to: CChar.self),
                        UnsafeMutableRawPointer(target).assumingMemoryBound(to: CChar.self), CInt(bytes.count),
                        CInt(count)))
            }
            isWhole = written == count
            initialized = isWhole ? count : 0
        }
        return isWhole ? output : nil
    }

    /// Returns the CRC-32 of numbers (eight bytes each, little-endian) followed by bytes.
    static func checksum(_ numbers: [Int64], _ bytes: Span<UInt8>) -> UInt32 {
        var header: [UInt8] = []
        for number in numbers {
            for shift in stride(from: 0, to: 64, by: 8) { header.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        let start = add(header.span, to: 0)
        return UInt32(truncatingIfNeeded: add(bytes, to: start))
    }

    private static func add(_ bytes: Span<UInt8>, to sum: UInt) -> UInt {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe bytes.isEmpty ? sum : crc32_z(sum, bytes.baseAddress, bytes.count)
        }
    }
}

extension Span<UInt8> {
    /// Returns a copy of the bytes.
    func copy() -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(contentsOf: self, from: 0, to: count)
        return copy
    }
}

/// A growable byte buffer that reuses its memory and appends short runs cheaply.
///
/// Appending to an array costs a function call for each run. A record has a dozen short texts, so these calls would
/// dominate the cost of copying a record. Here, short runs are copied in vectors of 16 bytes. The last vector may write
/// past the run, into padding that always exists.
public struct ByteBuffer: Sendable {
    /// The number of padding bytes that are always free after the contents, once the buffer has memory.
    @usableFromInline static let room = 16

    /// The contents, followed by the padding.
    @usableFromInline var storage: [UInt8] = []
    @usableFromInline var end = 0

    /// Creates an empty buffer.
    @inlinable
    public init() {}

    /// Creates a buffer with a copy of `bytes`.
    package init(_ bytes: [UInt8]) {
        append(contentsOf: bytes)
    }

    /// The number of bytes in the buffer.
    @inlinable @inline(__always)
    public var count: Int { end }

    /// The size of the allocated memory, in bytes.
    package var capacity: Int { storage.count }

    /// Whether the buffer holds no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { end == 0 }

    /// The contents.
    @inlinable @inline(__always)
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { storage.span.extracting(0..<end) }
    }

    /// Returns a copy of a part of the contents.
    package subscript(range: Range<Int>) -> [UInt8] {
        precondition(range.upperBound <= end, "The range must be within the bytes")
        return Array(storage[range])
    }

    /// Drops all but the first `count` bytes and keeps the memory.
    ///
    /// - Parameter count: The number of bytes to keep; at most the current count.
    @inlinable @inline(__always)
    public mutating func truncate(to count: Int) {
        precondition(count <= end, "The count must not exceed the number of bytes")
        end = count
    }

    /// Drops the first `count` bytes and keeps the memory.
    package mutating func removeFirst(_ count: Int) {
        precondition(count <= end, "The count must not exceed the number of bytes")
        let remaining = count..<end
        var memory = storage.mutableSpan
        for index in remaining { memory[index - count] = memory[index] }
        end = remaining.count
    }

    /// Appends a part of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to copy from.
    ///   - start: The index of the first byte to copy.
    ///   - stop: The index after the last byte to copy.
    @inlinable @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>, from start: Int, to stop: Int) {
        reserveRoom(for: stop &- start)
        let target = end
        var memory = storage.mutableSpan
        var output = unsafe memory.mutableBytes
        Self.copy(bytes, from: start, to: stop, into: &output, at: target)
        end = target &+ stop &- start
    }

    /// Appends the contents of another buffer.
    @inlinable @inline(__always)
    public mutating func append(_ other: borrowing ByteBuffer) {
        // Passes the padding too, so that the end of the contents can be copied in vectors.
        append(other.storage.span, from: 0, to: other.end)
    }

    /// Copies a part of `bytes` into memory that has space for it and for `room` more bytes.
    @inlinable @inline(__always)
    static func copy(
        _ bytes: Span<UInt8>, from start: Int, to stop: Int, into output: inout MutableRawSpan, at target: Int
    ) {
        let length = stop &- start
        precondition(
            start >= 0 && length >= 0 && stop <= bytes.count && target >= 0
                && target <= output.byteCount &- length &- Self.room, "The range must be within the bytes")
        // The last vector may read and write past the run, so 16 bytes must follow the run in `bytes`.
        guard length <= 64, stop <= bytes.count &- 16 else {
            return copyRun(bytes, from: start, to: stop, into: &output, at: target)
        }
        var offset = 0
        while offset < length {
            let vector = unsafe bytes.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: start &+ offset, as: SIMD2<UInt64>.self)
            unsafe output.storeBytes(
                of: vector, toUncheckedByteOffset: target &+ offset, as: SIMD2<UInt64>.self)
            offset &+= 16
        }
    }

    /// Copies a run of any length, without reading or writing past its end.
    @usableFromInline
    static func copyRun(
        _ bytes: Span<UInt8>, from start: Int, to stop: Int, into output: inout MutableRawSpan, at target: Int
    ) {
        unsafe output.withUnsafeMutableBytes { output in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: output[target..<(target + stop - start)])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<stop]))
            }
        }
    }

    /// Appends one byte.
    ///
    /// - Parameter byte: The byte to append.
    @inlinable @inline(__always)
    public mutating func append(_ byte: UInt8) {
        reserveRoom(for: 1)
        storage[end] = byte
        end &+= 1
    }

    /// Appends all of the bytes.
    package mutating func append(contentsOf bytes: [UInt8]) {
        append(bytes.span, from: 0, to: bytes.count)
    }

    /// Appends all of the bytes, one at a time.
    package mutating func append(contentsOf bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// Appends bytes with unspecified values, which the caller must overwrite.
    ///
    /// - Parameter count: The number of bytes to append.
    @inlinable @inline(__always)
    public mutating func appendRoom(_ count: Int) {
        reserveRoom(for: count)
        end &+= count
    }

    /// Overwrites the last byte. The buffer must not be empty.
    ///
    /// - Parameter byte: The new value.
    @inlinable @inline(__always)
    public mutating func replaceLast(with byte: UInt8) {
        storage[end &- 1] = byte
    }

    /// Overwrites the bytes from `index` on with integers of eight bytes each, in little-endian order.
    ///
    /// - Parameters:
    ///   - words: The integers to store.
    ///   - index: The index of the first byte to overwrite.
    @inlinable @inline(__always)
    public mutating func store(words: Span<UInt64>, at index: Int) {
        precondition(
            index >= 0 && index <= end &- 8 &* words.count, "The range must be within the bytes")
        var memory = storage.mutableSpan
        var output = unsafe memory.mutableBytes
        for word in words.indices {
            unsafe output.storeBytes(
                of: words[word].littleEndian, toUncheckedByteOffset: index &+ 8 &* word, as: UInt64.self)
        }
    }

    /// Overwrites the bytes from `index` on with `bytes`.
    package mutating func replace(from index: Int, with bytes: Span<UInt8>) {
        precondition(index >= 0 && index <= end - bytes.count, "The range must be within the bytes")
        var memory = storage.mutableSpan
        var output = unsafe memory.mutableBytes
        Self.copyRun(bytes, from: 0, to: bytes.count, into: &output, at: index)
    }

    /// Reserves memory, so that appending `more` bytes does not reallocate.
    ///
    /// - Parameter more: The number of bytes to be appended.
    @inlinable @inline(__always)
    public mutating func reserveRoom(for more: Int) {
        if end &+ more &+ Self.room > storage.count { grow(by: more) }
    }

    @usableFromInline
    mutating func grow(by more: Int) {
        var larger = [UInt8](repeating: 0, count: max(end + more + Self.room, 2 * storage.count))
        var memory = larger.mutableSpan
        for index in 0..<end { memory[index] = storage[index] }
        storage = larger
    }
}

// Copies whole runs, since copying bytes one at a time would dominate the cost of decoding a record. The bounds are
// checked before each copy. Apart from calls of C functions and test libraries, `unsafe` is used only in this file and
// in `WordLoading.swift`.
extension [UInt8] {
    /// Appends a part of `bytes`.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>, from start: Int, to end: Int) {
        precondition(start >= 0 && start <= end && end <= bytes.count, "The range must be within the bytes")
        reserveRoom(for: end &- start)
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe append(contentsOf: UnsafeBufferPointer(rebasing: source[start..<end]))
        }
    }

    /// Reserves memory for `more` bytes. At least doubles the capacity if it is too small, so that appends stay cheap.
    @inlinable @inline(__always)
    package mutating func reserveRoom(for more: Int) {
        if capacity - count < more {
            reserveCapacity(Swift.max(count + more, 2 * capacity))
        }
    }
}

public import CProcessor

/// Bytes that are gathered piece by piece, in memory that is used again.
///
/// An array does the same, but copies each short run by a call of its own, and
/// with a dozen short texts a record that is most of what gathering them costs.
/// Here runs are copied in vectors, of which the last may reach beyond the run,
/// into room that is always there.
public struct ByteBuffer: Sendable {
    /// What is always free behind what was gathered, once anything was.
    @usableFromInline static let room = 16

    /// What was gathered, and the room behind it.
    @usableFromInline var storage: [UInt8] = []
    @usableFromInline var end = 0

    /// Nothing yet.
    @inlinable
    public init() {}

    package init(_ bytes: [UInt8]) {
        append(contentsOf: bytes)
    }

    /// How many bytes were gathered.
    @inlinable @inline(__always)
    public var count: Int { end }

    /// How much memory it has.
    package var capacity: Int { storage.count }

    /// Whether nothing was gathered.
    @inlinable @inline(__always)
    public var isEmpty: Bool { end == 0 }

    /// What was gathered.
    @inlinable @inline(__always)
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { storage.span.extracting(0..<end) }
    }

    /// What was gathered, with the room behind it: not a copy, until either is written to.
    package var bytes: [UInt8] { storage }

    /// A copy of a part of it.
    package subscript(range: Range<Int>) -> [UInt8] {
        precondition(range.upperBound <= end, "A part of bytes lies within them")
        return Array(storage[range])
    }

    /// Forgets all but the first bytes, and keeps the memory.
    @inlinable @inline(__always)
    public mutating func truncate(to count: Int) {
        precondition(count <= end, "What was not gathered can't be kept")
        end = count
    }

    /// Forgets the first bytes, and keeps the memory.
    package mutating func removeFirst(_ count: Int) {
        precondition(count <= end, "What was not gathered can't be forgotten")
        let kept = count..<end
        var room = storage.mutableSpan
        for index in kept { room[index - count] = room[index] }
        end = kept.count
    }

    /// Appends a part of some bytes.
    @inlinable @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>, from start: Int, to stop: Int) {
        reserveRoom(for: stop &- start)
        let target = end
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        Self.copy(bytes, from: start, to: stop, into: &output, at: target)
        end = target &+ stop &- start
    }

    /// Appends what another has gathered.
    @inlinable @inline(__always)
    public mutating func append(_ other: borrowing ByteBuffer) {
        // With the room behind it, so that its end is copied as the rest is.
        append(other.storage.span, from: 0, to: other.end)
    }

    /// Copies a part of some bytes to where there is room for it.
    @inlinable @inline(__always)
    static func copy(
        _ bytes: Span<UInt8>, from start: Int, to stop: Int, into output: inout MutableRawSpan, at target: Int
    ) {
        let length = stop &- start
        precondition(
            start >= 0 && length >= 0 && stop <= bytes.count && target >= 0
                && target <= output.byteCount &- length &- Self.room, "A part of bytes lies within them")
        // In vectors, the last of them reaching beyond the run, where there is as much behind it.
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

    /// Copies a run for which a call is worth while.
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
    @inlinable @inline(__always)
    public mutating func append(_ byte: UInt8) {
        reserveRoom(for: 1)
        storage[end] = byte
        end &+= 1
    }

    package mutating func append(contentsOf bytes: [UInt8]) {
        append(bytes.span, from: 0, to: bytes.count)
    }

    package mutating func append(contentsOf bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// Appends bytes that are written later.
    @inlinable @inline(__always)
    public mutating func appendRoom(_ count: Int) {
        reserveRoom(for: count)
        end &+= count
    }

    /// Writes over the byte that was appended last.
    @inlinable @inline(__always)
    public mutating func replaceLast(with byte: UInt8) {
        storage[end &- 1] = byte
    }

    /// Writes numbers over the bytes from an index on, eight for each, the lowest first.
    @inlinable @inline(__always)
    public mutating func store(words: Span<UInt64>, at index: Int) {
        precondition(
            index >= 0 && index <= end &- 8 &* words.count, "Words are stored within the bytes that are there")
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        for place in words.indices {
            unsafe output.storeBytes(
                of: words[place].littleEndian, toUncheckedByteOffset: index &+ 8 &* place, as: UInt64.self)
        }
    }

    /// Writes over the bytes from an index on.
    package mutating func replace(from index: Int, with bytes: Span<UInt8>) {
        precondition(index >= 0 && index <= end - bytes.count, "Bytes are written over those that are there")
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        Self.copyRun(bytes, from: 0, to: bytes.count, into: &output, at: index)
    }

    /// Makes room for more, so that it need not grow meanwhile.
    @inlinable @inline(__always)
    public mutating func reserveRoom(for more: Int) {
        if end &+ more &+ Self.room > storage.count { grow(by: more) }
    }

    @usableFromInline
    mutating func grow(by more: Int) {
        var larger = [UInt8](repeating: 0, count: max(end + more + Self.room, 2 * storage.count))
        var room = larger.mutableSpan
        for index in 0..<end { room[index] = storage[index] }
        storage = larger
    }
}

// Copies of whole runs of bytes, where one at a time would cost most of the time of decoding a record. With
// `WordLoading.swift` and `ByteBuffer.swift` one of the places outside the seams to C that say `unsafe`: the bounds are
// checked before each copy.
extension [UInt8] {
    /// Appends a part of some bytes.
    @inlinable @inline(__always)
    package mutating func append(contentsOf bytes: Span<UInt8>, from start: Int, to end: Int) {
        precondition(start >= 0 && start <= end && end <= bytes.count, "A part of bytes lies within them")
        reserveRoom(for: end &- start)
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe append(contentsOf: UnsafeBufferPointer(rebasing: source[start..<end]))
        }
    }

    /// Makes room for more without losing the doubling that keeps appending cheap.
    @inlinable @inline(__always)
    package mutating func reserveRoom(for more: Int) {
        if capacity - count < more {
            reserveCapacity(Swift.max(count + more, 2 * capacity))
        }
    }
}

// Where thousands of things are met in turn, most of the time goes by in waiting for their memory. What is asked for a
// little before it is needed comes while something else is done. Nothing is read here, so any place may be asked for.

extension Array {
    /// Has the memory of an element fetched, if there is such an element.
    @inlinable @inline(__always)
    package func prefetch(at index: Int) {
        guard index >= 0, index < count else { return }
        unsafe withUnsafeBufferPointer { elements in
            guard let first = elements.baseAddress else { return }
            unsafe cprocessor_prefetch(first + index)
        }
    }
}

extension ByteBuffer {
    /// Has a part of the bytes fetched, as far as they were gathered.
    @inlinable @inline(__always)
    package func prefetch(from start: Int, to stop: Int) {
        let line = 64
        var index = start
        while index < Swift.min(stop, storage.count) {
            storage.prefetch(at: index)
            index &+= line
        }
    }
}

/// Bytes that are gathered piece by piece, in memory that is used again.
///
/// An array does the same, but copies each short run by a call of its own, and
/// with a dozen short texts a record that is most of what gathering them costs.
/// Here runs are copied in words, of which the last may reach beyond the run,
/// into room that is always there.
public struct ByteBuffer: Sendable {
    /// What was gathered, and room of at least a word behind it.
    @usableFromInline var storage: [UInt8] = []
    @usableFromInline var end = 0

    /// Nothing yet.
    @inlinable
    public init() {}

    package init(_ bytes: some Sequence<UInt8>) {
        append(contentsOf: bytes)
    }

    /// How many bytes were gathered.
    @inlinable @inline(__always)
    public var count: Int { end }

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

    /// Appends a part of some bytes.
    @inlinable @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>, from start: Int, to stop: Int) {
        precondition(start >= 0 && start <= stop && stop <= bytes.count, "A part of bytes lies within them")
        let length = stop &- start
        reserveRoom(for: length)
        if length > 32 { return appendRun(bytes, from: start, to: stop) }
        let target = end
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        // Whole words, the last of them reaching beyond the run where both sides have as much.
        let whole = stop &+ 8 <= bytes.count ? length : length & ~7
        var offset = 0
        while offset < whole {
            let word = bytes.word(at: start &+ offset).littleEndian
            output.storeBytes(of: word, toByteOffset: target &+ offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < length {
            output.storeBytes(of: bytes[start &+ offset], toByteOffset: target &+ offset, as: UInt8.self)
            offset &+= 1
        }
        end = target &+ length
    }

    /// Appends a run for which a call is worth while.
    @usableFromInline
    mutating func appendRun(_ bytes: Span<UInt8>, from start: Int, to stop: Int) {
        let target = end..<(end + stop - start)
        unsafe storage.withUnsafeMutableBytes { output in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: output[target])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<stop]))
            }
        }
        end = target.upperBound
    }

    /// Appends texts without escapes that are parts of some bytes, one behind the other.
    @inlinable @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>, texts: Span<JSONText>) {
        var length = 0
        for index in texts.indices { length &+= texts[index].count }
        reserveRoom(for: length)
        var target = end
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        for index in texts.indices {
            let text = texts[index]
            let stop = text.end
            var source = text.start
            var place = target
            // Whole words, the last of them reaching beyond the text where both sides have as much.
            while source < stop, source &+ 8 <= bytes.count {
                output.storeBytes(of: bytes.word(at: source).littleEndian, toByteOffset: place, as: UInt64.self)
                source &+= 8
                place &+= 8
            }
            while source < stop {
                output.storeBytes(of: bytes[source], toByteOffset: place, as: UInt8.self)
                source &+= 1
                place &+= 1
            }
            target &+= text.count
        }
        end = target
    }

    /// Appends one byte.
    @inlinable @inline(__always)
    public mutating func append(_ byte: UInt8) {
        reserveRoom(for: 1)
        storage[end] = byte
        end &+= 1
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

    /// Writes a number over the eight bytes from an index on, the lowest first.
    @inlinable @inline(__always)
    public mutating func store(word: UInt64, at index: Int) {
        precondition(index >= 0 && index &+ 8 <= end, "A word is stored within the bytes that are there")
        var room = storage.mutableSpan
        var output = unsafe room.mutableBytes
        output.storeBytes(of: word.littleEndian, toByteOffset: index, as: UInt64.self)
    }

    /// Makes room for more, so that it need not grow meanwhile.
    @inlinable @inline(__always)
    public mutating func reserveRoom(for more: Int) {
        if end &+ more &+ 8 > storage.count { grow(by: more) }
    }

    @usableFromInline
    mutating func grow(by more: Int) {
        var larger = [UInt8](repeating: 0, count: max(end + more + 8, 2 * storage.count))
        var room = larger.mutableSpan
        for index in 0..<end { room[index] = storage[index] }
        storage = larger
    }
}

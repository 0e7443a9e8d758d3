import IssueProtocol

/// Assigns numbers, counted from 0, to distinct byte strings (runs).
///
/// A hash table with open addressing. The number of slots is a power of two, and at most half of them are used. Runs
/// are compared byte by byte, so correctness does not depend on the hash. A lookup probes at most `maxProbes` slots;
/// random hashes rarely need as many. An insertion that would need more replaces another run, which is then no longer
/// found. A sender of colliding runs therefore cannot slow down the table.
struct InternTable: Sendable {
    /// Everything needed to find a run. It is stored together, because cache misses are the main cost if thousands of
    /// runs alternate.
    private struct Slot {
        var hash: UInt64 = 0
        var bytes = ByteRange.empty
        /// The run's number plus one; 0 for a free slot.
        var number: UInt32 = 0
        var tag: UInt32 = 0
    }

    /// A run found in the table.
    struct Run {
        var number: Int
        /// The number of its bytes.
        var count: Int
        /// The tag given when the run was inserted.
        var tag: UInt32
    }

    private static let maxProbes = 64

    private var slots: [Slot] = []
    private var ranges: [ByteRange] = []
    private var bytes = ByteBuffer()

    init() {}

    /// The number of runs, including replaced ones.
    var count: Int { ranges.count }

    /// The size of all runs, including replaced ones, and of the room for their notes, in bytes.
    var byteCount: Int { bytes.count }

    /// Returns the run that starts at an index; nil if it is unknown. No run may be a prefix of another one.
    @inline(__always)
    func find(_ input: Span<UInt8>, at start: Int, hash: UInt64) -> Run? {
        guard !slots.isEmpty else { return nil }
        var index = firstPosition(hash)
        for _ in 0..<Self.maxProbes {
            let slot = slots[index]
            guard slot.number > 0 else { return nil }
            let count = Int(slot.bytes.count)
            if slot.hash == hash, start &+ count <= input.count,
                input.equals(from: start, bytes.span, from: slot.bytes.lower, count: count)
            {
                return Run(number: Int(slot.number) &- 1, count: count, tag: slot.tag)
            }
            index = next(index)
        }
        return nil
    }

    /// Returns the value of the note after a run if the note was written for the same bytes; otherwise nil. The run
    /// must have been inserted with room for a note.
    ///
    ///     note ::= length value bytes
    @inline(__always)
    func note(for input: Span<UInt8>, after number: Int) -> UInt64? {
        let (start, kept) = (ranges[number].upper, bytes.span)
        guard kept.word(at: start) == UInt64(truncatingIfNeeded: input.count), !input.isEmpty,
            input.equals(from: 0, kept, from: start &+ Self.noteHeaderSize, count: input.count)
        else { return nil }
        return kept.word(at: start &+ 8)
    }

    /// Writes a note, which is a value and the bytes that it belongs to, after a run that was inserted with enough
    /// room. The run's earlier note is replaced. Finding the run usually loads the note into the processor's cache too.
    mutating func note(_ value: UInt64, for input: Span<UInt8>, after number: Int) {
        let start = ranges[number].upper
        let head: InlineArray<2, UInt64> = [UInt64(truncatingIfNeeded: input.count), value]
        bytes.store(words: head.span, at: start)
        bytes.replace(from: start + Self.noteHeaderSize, with: input)
    }

    /// The size of a note without its bytes.
    static let noteHeaderSize = 16

    /// Adds a run that is not in the table and returns its number.
    ///
    /// - Parameters:
    ///   - input: The bytes that contain the run.
    ///   - start: The index of the run's first byte.
    ///   - end: The index after the run's last byte.
    ///   - hash: The hash of the run.
    ///   - tag: A value chosen by the caller, returned by `find`.
    ///   - room: The room for a note after the run, in bytes, including `noteHeaderSize`; 0 for no note.
    mutating func insert(
        _ input: Span<UInt8>, from start: Int, to end: Int, hash: UInt64, tag: UInt32 = 0, room: Int = 0
    ) -> Int {
        if 2 * (ranges.count + 1) > slots.count { grow() }
        let first = bytes.count
        bytes.append(input, from: start, to: end)
        let range = ByteRange(from: first, to: bytes.count)
        if room > 0 {
            bytes.appendRoom(room)
            // A length of 0 means that there is no note.
            let nothing: InlineArray<2, UInt64> = [0, 0]
            bytes.store(words: nothing.span, at: range.upper)
        }
        ranges.append(range)
        insert(Slot(hash: hash, bytes: range, number: UInt32(ranges.count), tag: tag))
        return ranges.count - 1
    }

    /// Removes all runs and keeps the memory, because a full table usually fills again soon.
    mutating func removeAll() {
        for index in slots.indices { slots[index] = Slot() }
        ranges.removeAll(keepingCapacity: true)
        bytes.truncate(to: 0)
    }

    @inline(__always)
    private func firstPosition(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (slots.count &- 1) }

    @inline(__always)
    private func next(_ index: Int) -> Int { (index &+ 1) & (slots.count &- 1) }

    /// Inserts a slot. Replaces the last probed one if none is free.
    private mutating func insert(_ slot: Slot) {
        var index = firstPosition(slot.hash)
        for _ in 1..<Self.maxProbes where slots[index].number > 0 { index = next(index) }
        slots[index] = slot
    }

    private mutating func grow() {
        let before = slots
        slots = [Slot](repeating: Slot(), count: max(64, 2 * before.count))
        for slot in before where slot.number > 0 { insert(slot) }
    }
}

/// Assigns numbers, counted from 0, to ids in the order of their first occurrence.
///
/// Commits look up an id for each record, so the table uses open addressing and is at most half full.
package struct IDInterner<ID: Identifier> {
    /// The ids, indexed by their numbers.
    @usableFromInline
    package internal(set) var ids: [ID] = []
    /// For each slot, the number of its id plus one; 0 for a free slot.
    @usableFromInline
    var table = [UInt32](repeating: 0, count: 256)

    @inlinable
    package init() {}

    /// Returns the number of an id, which is added if it is new.
    @inlinable
    package mutating func number(of id: ID) -> Int {
        var index = firstIndex(of: id)
        while true {
            let number = Int(table[index])
            if number == 0 { break }
            if ids[number &- 1] == id { return number &- 1 }
            index = (index &+ 1) & (table.count &- 1)
        }
        ids.append(id)
        table[index] = UInt32(ids.count)
        if 2 * ids.count > table.count { grow() }
        return ids.count - 1
    }

    @inlinable @inline(__always)
    func firstIndex(of id: ID) -> Int {
        let mixed = UInt64(bitPattern: id.rawValue) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (table.count &- 1)
    }

    @inlinable
    mutating func grow() {
        table = [UInt32](repeating: 0, count: 4 * table.count)
        for (number, id) in ids.enumerated() {
            var index = firstIndex(of: id)
            while table[index] != 0 { index = (index + 1) & (table.count - 1) }
            table[index] = UInt32(number + 1)
        }
    }
}

/// A fast hash for tables in memory, seeded so that senders cannot provoke collisions.
///
/// It multiplies and folds eight bytes at a time. Its hashes are never stored; stored hashes are those of `SipHash`.
package struct WordHash: Sendable {
    private let seed: UInt64

    /// - Parameter seed: A random number that is kept secret.
    package init(seed: UInt64) {
        self.seed = seed | 1
    }

    /// Returns the hash of a range of bytes.
    @inline(__always)
    package func callAsFunction(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        // Two independent chains, since each multiplication waits for the one before it.
        var first = seed ^ UInt64(truncatingIfNeeded: end &- start)
        var second = seed &* 0xA076_1D64_78BD_642F
        var index = bytes.forEachPair(from: start, to: end) {
            first = Self.fold(first ^ $0, 0x9E37_79B9_7F4A_7C15)
            second = Self.fold(second ^ $1, 0xE703_7ED1_A0B4_28DB)
        }
        if index &+ 8 <= end {
            first = Self.fold(first ^ bytes.word(at: index), 0x9E37_79B9_7F4A_7C15)
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < end {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return Self.fold(first ^ rest, second ^ 0xD6E8_FEB8_6659_FD93)
    }

    /// Returns the exclusive or of the halves of a full-width product.
    @inline(__always)
    package static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

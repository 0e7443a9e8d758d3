import IssueProtocol

/// Interns runs of bytes: each that is met gets a number, counted from nothing, by which it is known from then on.
///
/// Open addressing over a power of two of slots, of which at most half are
/// taken. Runs are compared by all of their bytes, so the hash need not be
/// trusted; and not more slots are looked at than chance alone ever fills, so
/// that nobody makes the rest slow by sending runs alike: of those the latest
/// are found.
struct InternTable: Sendable {
    /// All that is needed to find a run, side by side: where thousands are met in turn, each look into another piece of
    /// memory is what costs.
    private struct Slot {
        var hash: UInt64 = 0
        var bytes = ByteRange.empty
        /// The run's number, counted from one; 0 for a slot that is free.
        var number: UInt32 = 0
        var tag: UInt32 = 0
    }

    /// A run that was met before.
    struct Run {
        var number: Int
        var count: Int
        /// What was said of it when it was met first.
        var tag: UInt32
    }

    private static let maxProbes = 64

    private var slots: [Slot] = []
    private var ranges: [ByteRange] = []
    private var bytes = ByteBuffer()

    init() {}

    /// How many runs have a number.
    var count: Int { ranges.count }

    /// How many bytes they have together.
    var byteCount: Int { bytes.count }

    /// The run that begins at an index, if it was met before; of what a run begins with no other run may consist.
    @inline(__always)
    func find(_ input: Span<UInt8>, at start: Int, hash: UInt64) -> Run? {
        guard !slots.isEmpty else { return nil }
        var place = firstPlace(hash)
        for _ in 0..<Self.maxProbes {
            let slot = slots[place]
            guard slot.number > 0 else { return nil }
            let count = Int(slot.bytes.count)
            if slot.hash == hash, start &+ count <= input.count,
                input.equals(from: start, bytes.span, from: slot.bytes.lower, count: count)
            {
                return Run(number: Int(slot.number) &- 1, count: count, tag: slot.tag)
            }
            place = next(place)
        }
        return nil
    }

    /// Has the place fetched at which a run with a hash would be found.
    @inline(__always)
    func prefetchPlace(_ hash: UInt64) {
        slots.prefetch(at: firstPlace(hash))
    }

    /// Has the bytes fetched of the run that is mostly found by a hash, and what may be noted behind it.
    @inline(__always)
    func prefetchRun(_ hash: UInt64, room: Int) {
        guard !slots.isEmpty else { return }
        let slot = slots[firstPlace(hash)]
        guard slot.hash == hash else { return }
        bytes.prefetch(from: slot.bytes.lower, to: slot.bytes.upper &+ room)
    }

    /// What was noted behind a run, if it was noted for just these bytes.
    ///
    ///     note ::= length value bytes
    @inline(__always)
    func note(for input: Span<UInt8>, behind number: Int) -> UInt64? {
        let (start, kept) = (ranges[number].upper, bytes.span)
        guard kept.word(at: start) == UInt64(truncatingIfNeeded: input.count), !input.isEmpty,
            input.equals(from: 0, kept, from: start &+ Self.noteHead, count: input.count)
        else { return nil }
        return kept.word(at: start &+ 8)
    }

    /// Notes a value for some bytes behind a run that has room for them: whoever has found the run has the note at
    /// hand, where a look into another piece of memory would cost as much as the first.
    mutating func note(_ value: UInt64, for input: Span<UInt8>, behind number: Int) {
        let start = ranges[number].upper
        let head: InlineArray<2, UInt64> = [UInt64(truncatingIfNeeded: input.count), value]
        bytes.store(words: head.span, at: start)
        bytes.replace(from: start + Self.noteHead, with: input)
    }

    /// What a note takes beside the bytes that it is for.
    static let noteHead = 16

    /// Gives a number to a run that has none, with room behind it for a note.
    mutating func insert(
        _ input: Span<UInt8>, from start: Int, to end: Int, hash: UInt64, tag: UInt32 = 0, room: Int = 0
    ) -> Int {
        if 2 * (ranges.count + 1) > slots.count { grow() }
        let first = bytes.count
        bytes.append(input, from: start, to: end)
        let range = ByteRange(from: first, to: bytes.count)
        if room > 0 {
            bytes.appendRoom(room)
            // A note of no bytes is none.
            let nothing: InlineArray<2, UInt64> = [0, 0]
            bytes.store(words: nothing.span, at: range.upper)
        }
        ranges.append(range)
        place(Slot(hash: hash, bytes: range, number: UInt32(ranges.count), tag: tag))
        return ranges.count - 1
    }

    /// The bytes of a run.
    subscript(number: Int) -> [UInt8] {
        let range = ranges[number]
        return bytes[range.lower..<range.upper]
    }

    /// Forgets all, and gives the memory back.
    mutating func removeAll() {
        self = InternTable()
    }

    @inline(__always)
    private func firstPlace(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (slots.count &- 1) }

    @inline(__always)
    private func next(_ place: Int) -> Int { (place &+ 1) & (slots.count &- 1) }

    private mutating func place(_ slot: Slot) {
        var place = firstPlace(slot.hash)
        for _ in 1..<Self.maxProbes where slots[place].number > 0 { place = next(place) }
        slots[place] = slot
    }

    private mutating func grow() {
        let before = slots
        slots = [Slot](repeating: Slot(), count: max(64, 2 * before.count))
        for slot in before where slot.number > 0 { place(slot) }
    }
}

/// Numbers the ids that occur, from nothing on, each the first time it is met.
///
/// It is asked for each record while a commit waits, so it is one look into a
/// table that is never more than half full.
package struct IDInterner {
    /// The ids met so far, by their numbers.
    package private(set) var ids: [Int64] = []
    private var table = [UInt32](repeating: 0, count: 256)

    package init() {}

    /// The number of an id.
    package mutating func number(of id: Int64) -> Int {
        var place = place(of: id)
        while true {
            let number = Int(table[place])
            if number == 0 { break }
            if ids[number &- 1] == id { return number &- 1 }
            place = (place &+ 1) & (table.count &- 1)
        }
        ids.append(id)
        table[place] = UInt32(ids.count)
        if 2 * ids.count > table.count { grow() }
        return ids.count - 1
    }

    @inline(__always)
    private func place(of id: Int64) -> Int {
        let mixed = UInt64(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (table.count &- 1)
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: 4 * table.count)
        for (number, id) in ids.enumerated() {
            var place = place(of: id)
            while table[place] != 0 { place = (place + 1) & (table.count - 1) }
            table[place] = UInt32(number + 1)
        }
    }
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012): the hash that is stored and that is the same on every host.
package struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var pending: UInt64 = 0
    private var pendingCount = 0
    private var count: UInt64 = 0

    package init(key0: UInt64 = 0, key1: UInt64 = 0) {
        v0 = key0 ^ 0x736F_6D65_7073_6575
        v1 = key1 ^ 0x646F_7261_6E64_6F6D
        v2 = key0 ^ 0x6C79_6765_6E65_7261
        v3 = key1 ^ 0x7465_6462_7974_6573
    }

    package mutating func append(_ byte: UInt8) {
        pending |= UInt64(byte) << UInt64(8 * pendingCount)
        pendingCount += 1
        count &+= 1
        if pendingCount == 8 { compress() }
    }

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// The generic form is not specialised for other modules, and takes ten
    /// times as long there.
    package mutating func append(_ bytes: [UInt8]) {
        for byte in bytes { append(byte) }
    }

    /// Adds a number as eight bytes, the lowest first.
    package mutating func append(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    /// Adds a text with its length, so that two texts in a row can't be read as another two; absent differs from empty.
    package mutating func append(field: String?) {
        guard let field else { return append(UInt64.max) }
        append(UInt64(field.utf8.count))
        append(field.utf8)
    }

    package consuming func finish() -> UInt64 {
        pending |= count << 56
        compress()
        v2 ^= 0xFF
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func compress() {
        v3 ^= pending
        round()
        round()
        v0 ^= pending
        pending = 0
        pendingCount = 0
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, 13) ^ v0
        v0 = Self.rotate(v0, 32)
        v2 &+= v3
        v3 = Self.rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, 17) ^ v2
        v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 {
        word << bits | word >> (64 - bits)
    }
}

/// A quick hash of bytes for tables in memory, seeded so that nobody outside can aim at one of its chains.
///
/// Multiply and fold, eight bytes at a time. Never stored: what is stored is
/// hashed by `SipHash`.
package struct WordHash: Sendable {
    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed | 1
    }

    @inline(__always)
    package func callAsFunction(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
        // Two of them side by side, since each multiplication waits for the one before it.
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

    @inline(__always)
    package static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

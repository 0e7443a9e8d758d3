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

    private static let mostProbes = 64

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
        for _ in 0..<Self.mostProbes {
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

    /// Notes a value for some bytes behind a run that has room for them: whoever has found the run has the note at hand,
    /// where a look into another piece of memory would cost as much as the first.
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
        for _ in 1..<Self.mostProbes where slots[place].number > 0 { place = next(place) }
        slots[place] = slot
    }

    private mutating func grow() {
        let before = slots
        slots = [Slot](repeating: Slot(), count: max(64, 2 * before.count))
        for slot in before where slot.number > 0 { place(slot) }
    }
}

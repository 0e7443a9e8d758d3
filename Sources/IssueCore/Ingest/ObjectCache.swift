import IssueProtocol

/// The sources and applications that were read before, by their bytes as they were sent.
///
/// A program sends the same few of them again and again, and to compare their
/// bytes costs a tenth of reading them.
struct ObjectCache: Sendable {
    /// An object that was met before.
    struct Known {
        var number: Int
        var byteCount: Int
        /// How many keys it has, those that nobody knows included.
        var keys: Int
    }

    /// An object that is taken to end with its first closing bracket, before anybody knows whether it was met.
    struct Guess {
        var start: Int
        var byteCount: Int
        fileprivate var hash: UInt64
    }

    /// A longer object is read each time.
    static let maxBytes = 256
    /// Enough for what the programs of a host send mostly, and at most 4 MiB.
    static let maxObjects = 8192

    /// Of a source, what came with it last is expected, if it can be told apart by so few bytes.
    private static let maxExpected = 176

    private var table = InternTable()
    private var fields: [ObjectFields] = []
    private let seed: UInt64
    /// The serial of the first object.
    private var firstSerial: UInt64 = 1

    init(seed: UInt64) {
        self.seed = seed
    }

    /// The object that begins at an index, if it was met before.
    @inline(__always)
    func find(_ input: Span<UInt8>, at start: Int, _ container: RecordContainer) -> Known? {
        find(input, at: start, hash: hash(input, at: start, container).hash, container)
    }

    @inline(__always)
    private func find(
        _ input: Span<UInt8>, at start: Int, hash: UInt64, _ container: RecordContainer
    ) -> Known? {
        guard let run = table.find(input, at: start, hash: hash), run.tag & 1 == Self.tag(of: container) else {
            return nil
        }
        return Known(number: run.number, byteCount: run.count, keys: Int(run.tag >> 1))
    }

    /// Guesses which source begins at an index, so that its memory comes while what stands behind it is read.
    @inline(__always)
    func guess(_ input: Span<UInt8>, at start: Int) -> Guess? {
        let (hash, end) = hash(input, at: start, .source)
        guard let end, !fields.isEmpty else { return nil }
        table.prefetchPlace(hash)
        return Guess(start: start, byteCount: end &+ 1 &- start, hash: hash)
    }

    /// Has the bytes fetched with which a guess will be compared, once there was time for finding them.
    @inline(__always)
    func prefetch(_ guess: Guess) {
        table.prefetchRun(guess.hash, room: InternTable.noteHead &+ Self.maxExpected)
    }

    /// The source that was guessed, if there is one that is just these bytes.
    @inline(__always)
    func find(_ guess: Guess, in input: Span<UInt8>) -> Known? {
        guard let known = find(input, at: guess.start, hash: guess.hash, .source),
            known.byteCount == guess.byteCount
        else { return nil }
        return known
    }

    /// What an object says.
    subscript(number: Int) -> ObjectFields { fields[number] }

    /// What an object is called, which no other ever is: its number goes to others when all are forgotten.
    @inline(__always)
    func serial(of number: Int) -> UInt64 { firstSerial &+ UInt64(truncatingIfNeeded: number) }

    /// Keeps what the object in a range of bytes says, and answers its number; nothing for one that is too long.
    mutating func remember(
        _ input: Span<UInt8>, _ range: Range<Int>, _ container: RecordContainer, keys: Int, _ said: ObjectFields
    ) -> Int? {
        guard range.count <= Self.maxBytes else { return nil }
        fields.append(said)
        return table.insert(
            input, from: range.lowerBound, to: range.upperBound,
            hash: hash(input, at: range.lowerBound, container).hash,
            tag: UInt32(truncatingIfNeeded: keys) << 1 | Self.tag(of: container),
            room: container == .source ? InternTable.noteHead + Self.maxExpected : 0)
    }

    /// The number of the series that came last from a source, if this is its key, and the number means the same still.
    @inline(__always)
    func expected(_ key: Span<UInt8>, from source: Int, generation: UInt32) -> UInt32? {
        guard let note = table.note(for: key, behind: source), UInt32(truncatingIfNeeded: note >> 32) == generation
        else { return nil }
        return UInt32(truncatingIfNeeded: note)
    }

    /// A series has come from a source: a place in a program mostly reports the same.
    mutating func expect(_ series: UInt32, for key: Span<UInt8>, from source: Int, generation: UInt32) {
        guard key.count <= Self.maxExpected else { return }
        table.note(UInt64(generation) << 32 | UInt64(series), for: key, behind: source)
    }

    /// Forgets all where there are too many, so that numbers mean what they did until this is called again.
    @inline(__always)
    mutating func makeRoom() {
        if fields.count >= Self.maxObjects { removeAll() }
    }

    private mutating func removeAll() {
        firstSerial &+= UInt64(fields.count)
        fields = []
        table.removeAll()
    }

    @inline(__always)
    private static func tag(of container: RecordContainer) -> UInt32 { container == .app ? 1 : 0 }

    /// Tells objects apart by their first bytes: where one ends is not known before it was read, so that it goes up to
    /// the first closing bracket, and not further than those that are kept. Answers where that is, too.
    @inline(__always)
    private func hash(
        _ input: Span<UInt8>, at start: Int, _ container: RecordContainer
    ) -> (hash: UInt64, end: Int?) {
        var hash = seed ^ (container == .app ? 0x9E37_79B9_7F4A_7C15 : 0xE703_7ED1_A0B4_28DB)
        let end = input.forEachPair(
            from: start, to: min(start &+ Self.maxBytes, input.count), until: { $0 .== ByteMask.of("}") }
        ) {
            hash = WordHash.fold(hash ^ $0, $1 ^ 0xA076_1D64_78BD_642F)
        }
        return (hash, end)
    }
}

/// What a source or an application says, its texts counted from where the object begins.
struct ObjectFields: Sendable {
    var texts = InlineArray<5, JSONText>(repeating: Self.noText)
    var integers = InlineArray<2, Int64>(repeating: 0)
    var flags: SeriesKey.Flags = []

    /// A text stands behind its quotation mark, so none begins at 0.
    static let noText = JSONText(start: 0, end: 0, hasEscapes: false)

    init() {}
}

/// How a record's source or application was read.
enum ObjectReading: Sendable {
    /// It has none.
    case absent
    /// It begins at an index and was met before, or can be known from now on: what it says has not been taken over
    /// from there for sure.
    case known(number: Int, start: Int)
    /// It is the one that the decoder has guessed, if that is right.
    case guessed
    /// It is among the record's fields and nowhere else.
    case read
}

import IssueProtocol

/// The sources and applications that were read before, by their bytes as they were sent.
///
/// A program sends the same few of them again and again, and to compare their
/// bytes costs a tenth of reading them. Each has two places where it may be, of
/// which it takes the one that was taken less lately; where much is met there
/// are more of them, up to `mostPlaces`.
struct ObjectMemo: Sendable {
    struct Entry: Sendable {
        var container = RecordContainer.record
        var count = 0
        /// How many keys it has, those that nobody knows included.
        var keys = 0
        var fields = ObjectFields()
        fileprivate var hash: UInt64 = 0
    }

    /// A longer object is read each time.
    static let mostBytes = 256
    /// Enough for what the programs of a host send mostly, and 3 MiB.
    static let mostPlaces = 8192

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    private var remembered = 0

    init() {}

    /// The entry of the object that begins at an index, if it was met before.
    @inline(__always)
    func find(_ input: Span<UInt8>, at start: Int, _ container: RecordContainer) -> Int? {
        guard !entries.isEmpty else { return nil }
        let hash = Self.hash(input, at: start, container)
        var place = firstPlace(hash)
        if entries[place].hash != hash { place |= 1 }
        let count = entries[place].count
        guard entries[place].hash == hash, entries[place].container == container, count > 0,
            start &+ count <= input.count,
            input.equals(from: start, bytes.span, from: place &* Self.mostBytes, count: count)
        else { return nil }
        return place
    }

    subscript(place: Int) -> Entry {
        @inline(__always) get { entries[place] }
    }

    /// Keeps what the object in a range of bytes says.
    mutating func remember(_ input: Span<UInt8>, _ range: Range<Int>, _ entry: Entry) {
        guard range.count <= Self.mostBytes else { return }
        if remembered == entries.count, entries.count < Self.mostPlaces { grow() }
        let hash = Self.hash(input, at: range.lowerBound, entry.container)
        let place = firstPlace(hash) | remembered & 1
        remembered &+= 1
        entries[place] = entry
        entries[place].count = range.count
        entries[place].hash = hash
        for offset in 0..<range.count {
            bytes[place * Self.mostBytes + offset] = input[range.lowerBound + offset]
        }
    }

    private func firstPlace(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash &* 2) & (entries.count &- 1)
    }

    /// Tells objects apart by their first bytes: where one ends is not known before it was read, so that it goes up to
    /// the first closing bracket, and not far.
    @inline(__always)
    private static func hash(_ input: Span<UInt8>, at start: Int, _ container: RecordContainer) -> UInt64 {
        var hash: UInt64 = container == .app ? 0x9E37_79B9_7F4A_7C15 : 0xE703_7ED1_A0B4_28DB
        input.forEachPair(from: start, to: min(start &+ 128, input.count), until: { $0 .== ByteMask.of("}") }) {
            hash = WordHash.fold(hash ^ $0, $1 ^ 0xA076_1D64_78BD_642F)
        }
        return hash
    }

    /// Forgets all, and has room for four times as much.
    private mutating func grow() {
        remembered = 0
        let count = min(max(64, 4 * entries.count), Self.mostPlaces)
        entries = [Entry](repeating: Entry(), count: count)
        bytes = [UInt8](repeating: 0, count: count * Self.mostBytes)
    }
}

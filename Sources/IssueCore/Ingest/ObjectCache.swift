import IssueProtocol

/// A cache of decoded source and application objects, keyed by their JSON text.
///
/// A program sends the same few objects again and again, and comparing their bytes costs a tenth of decoding them.
struct ObjectCache: Sendable {
    /// An object found in the cache.
    struct CachedObject {
        var number: Int
        var byteCount: Int
        /// The number of its keys, including unknown ones.
        var keys: Int
    }

    /// The maximum size of a cached object, in bytes. Longer ones are decoded each time.
    static let maxBytes = 256
    /// The maximum number of objects: enough for the common objects of a host. Limits the cache to 4 MiB.
    static let maxObjects = 8192

    /// The maximum size of a series key noted with its source.
    private static let maxExpected = 176

    private var table = InternTable()
    private var fields: [ObjectFields] = []
    private let seed: UInt64
    /// The serial of the object with number 0.
    private var firstSerial: UInt64 = 1

    init(seed: UInt64) {
        self.seed = seed
    }

    /// Returns the object that starts at an index, or nil if it is not in the cache.
    @inline(__always)
    func find(_ input: Span<UInt8>, at start: Int, _ container: RecordContainer) -> CachedObject? {
        let hash = hash(input, at: start, container)
        guard let run = table.find(input, at: start, hash: hash), run.tag & 1 == Self.tag(of: container) else {
            return nil
        }
        return CachedObject(number: run.number, byteCount: run.count, keys: Int(run.tag >> 1))
    }

    /// The fields of an object.
    subscript(number: Int) -> ObjectFields { fields[number] }

    /// A serial number of an object that is never reused, unlike its number, which is reused after the cache was
    /// cleared.
    @inline(__always)
    func serial(of number: Int) -> UInt64 { firstSerial &+ UInt64(truncatingIfNeeded: number) }

    /// Adds an object and returns its number, or nil if the object is too long.
    ///
    /// - Parameters:
    ///   - input: The bytes that contain the object.
    ///   - range: The range of the object in `input`.
    ///   - container: The kind of the object.
    ///   - keys: The number of its keys, including unknown ones.
    ///   - values: The fields of the object.
    mutating func remember(
        _ input: Span<UInt8>, _ range: Range<Int>, _ container: RecordContainer, keys: Int, _ values: ObjectFields
    ) -> Int? {
        guard range.count <= Self.maxBytes else { return nil }
        fields.append(values)
        return table.insert(
            input, from: range.lowerBound, to: range.upperBound,
            hash: hash(input, at: range.lowerBound, container),
            tag: UInt32(truncatingIfNeeded: keys) << 1 | Self.tag(of: container),
            room: container == .source ? InternTable.noteHeaderSize + Self.maxExpected : 0)
    }

    /// Returns the number of the last series of a source if it has this key and the generation is current, otherwise
    /// nil.
    @inline(__always)
    func expected(_ key: Span<UInt8>, from source: Int, generation: UInt32) -> UInt32? {
        guard let note = table.note(for: key, behind: source), UInt32(truncatingIfNeeded: note >> 32) == generation
        else { return nil }
        return UInt32(truncatingIfNeeded: note)
    }

    /// Notes the series of a source. The same place in a program usually reports the same series.
    mutating func expect(_ series: UInt32, for key: Span<UInt8>, from source: Int, generation: UInt32) {
        guard key.count <= Self.maxExpected else { return }
        table.note(UInt64(generation) << 32 | UInt64(series), for: key, behind: source)
    }

    /// Clears the cache if it is full. Numbers are valid until the next call.
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

    /// Returns the hash of an object.
    ///
    /// The end of an object is unknown before it is decoded. The hash therefore covers the bytes up to the first
    /// closing brace, and at most `maxBytes`.
    @inline(__always)
    private func hash(_ input: Span<UInt8>, at start: Int, _ container: RecordContainer) -> UInt64 {
        var hash = seed ^ (container == .app ? 0x9E37_79B9_7F4A_7C15 : 0xE703_7ED1_A0B4_28DB)
        input.forEachPair(
            from: start, to: min(start &+ Self.maxBytes, input.count), until: { $0 .== ByteMask.of("}") }
        ) {
            hash = WordHash.fold(hash ^ $0, $1 ^ 0xA076_1D64_78BD_642F)
        }
        return hash
    }
}

/// The fields of a source or an application. Texts are relative to the start of the object.
struct ObjectFields: Sendable {
    var texts = InlineArray<5, JSONText>(repeating: Self.noText)
    var integers = InlineArray<2, Int64>(repeating: 0)
    var flags: SeriesKey.Flags = []

    /// The value for an absent text. A text starts after a quotation mark, so no text starts at 0.
    static let noText = JSONText(start: 0, end: 0, hasEscapes: false)

    init() {}
}

/// How a record's source or application was decoded.
enum ObjectReading: Sendable {
    /// The record has none.
    case absent
    /// It starts at `start` and is in the cache. Its fields may not have been copied to the record yet.
    case known(number: Int, start: Int)
    /// Its fields were decoded into the record and are not in the cache.
    case read
}

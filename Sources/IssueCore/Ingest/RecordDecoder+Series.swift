import IssueProtocol

extension RecordDecoder {
    /// Returns the number of the record's series in the batch's directory.
    ///
    /// The batch's copy of the directory may lack the series until `complete` is called.
    mutating func readSeries(_ scanner: borrowing JSONScanner, _ batch: inout RecordBatch) -> UInt32 {
        let number = numberOfSeries(scanner)
        if isRenumbered(batch) {
            renewDirectory(of: &batch)
        } else if number >= batch.directory.count {
            lacksSeries = true
        }
        return number
    }

    /// Gives the batch a new copy of the directory if its copy lacks series of its records.
    ///
    /// Call this once for many records. After each copy, the next added series must copy the directory's tail, which
    /// costs as much as adding many series.
    @inline(__always)
    package mutating func complete(_ batch: inout RecordBatch) {
        guard lacksSeries else { return }
        lacksSeries = false
        batch.directory = series.directory
    }

    /// Returns the number of the record's series in the decoder's directory.
    private mutating func numberOfSeries(_ scanner: borrowing JSONScanner) -> UInt32 {
        guard let source = serial(of: fields.source), let app = serial(of: fields.app),
            writeShortKey(scanner, source, app)
        else { return seriesByWholeKey(scanner) }
        if case .known(let number, _) = fields.source,
            let expected = objectCache.expected(shortKey.span, from: number, generation: series.generation)
        {
            return expected
        }
        return seriesByShortKey(scanner)
    }

    /// Returns the number of the record's series, found by the short key. Notes the number for a cached source.
    private mutating func seriesByShortKey(_ scanner: borrowing JSONScanner) -> UInt32 {
        let short = shortKey
        let hash = hash(short.span, from: 0, to: short.count)
        let number: UInt32
        if let cached = series.find(short.span, hash: hash) {
            number = cached
        } else {
            number = seriesByWholeKey(scanner)
            series.remember(number, short.span, hash: hash)
        }
        if case .known(let source, _) = fields.source {
            objectCache.expect(number, for: short.span, from: source, generation: series.generation)
        }
        return number
    }

    /// Returns the number of the record's series, found by the whole series key.
    private mutating func seriesByWholeKey(_ scanner: borrowing JSONScanner) -> UInt32 {
        copyCachedFields(fields.source, .source)
        copyCachedFields(fields.app, .app)
        writeKey(scanner)
        return series.number(of: key[0..<key.count], hash: hash(key.span, from: 0, to: key.count))
    }

    // MARK: The batch's directory

    /// Returns `true` if the batch has no directory yet, or a copy of an earlier directory of the decoder.
    @inline(__always)
    private mutating func isRenumbered(_ batch: borrowing RecordBatch) -> Bool {
        batch.directory.generation != series.directory.generation
    }

    /// Gives the batch a copy of the decoder's directory, and its records the numbers of that copy.
    private mutating func renewDirectory(of batch: inout RecordBatch) {
        for index in batch.records.indices {
            let key = batch.directory.key(batch.records[index].series)
            batch.records[index].series = series.number(of: key, hash: hash(key.span, from: 0, to: key.count))
        }
        batch.directory = series.directory
    }

    // MARK: Keys

    /// Returns the number that represents a source or an application in a short key: its serial, or 0 if the record has
    /// no such object; nil if the object is not in the cache.
    @inline(__always)
    private mutating func serial(of reading: ObjectReading) -> UInt64? {
        switch reading {
        case .absent: 0
        case .known(let number, _): objectCache.serial(of: number)
        case .read: nil
        }
    }

    /// Writes the short key of the record's series to `shortKey`. It represents the source and the application by their
    /// serials.
    ///
    ///     short ::= head code source app lengths domain fingerprint template
    ///
    /// - Returns: `false` if the domain or the fingerprint contains escapes. There is no short key then.
    @inline(__always)
    private mutating func writeShortKey(_ scanner: borrowing JSONScanner, _ source: UInt64, _ app: UInt64) -> Bool {
        let (domain, fingerprint) = (fields.text(.domain), fields.text(.fingerprint))
        if domain?.hasEscapes == true || fingerprint?.hasEscapes == true { return false }
        shortKey.truncate(to: 0)
        shortKey.appendRoom(40)
        var words = InlineArray<5, UInt64>(repeating: 0)
        let flags = fields.flags.intersection([.reportable, .code])
        words[0] = SeriesKey.head(flags, fields.severity, template: template.count)
        words[1] = UInt64(bitPattern: fields.integer(.code))
        words[2] = source
        words[3] = app
        words[4] = Self.length(of: domain) | Self.length(of: fingerprint) << 32
        shortKey.store(words: words.span, at: 0)
        if let domain { shortKey.append(scanner.bytes, from: domain.start, to: domain.end) }
        if let fingerprint { shortKey.append(scanner.bytes, from: fingerprint.start, to: fingerprint.end) }
        shortKey.append(template)
        return true
    }

    @inline(__always)
    private static func length(of text: JSONText?) -> UInt64 {
        UInt64(text.map { UInt32(truncatingIfNeeded: $0.count) } ?? SeriesKey.absent)
    }

    /// Copies the fields of a cached source or application to the record.
    private mutating func copyCachedFields(_ reading: ObjectReading, _ container: RecordContainer) {
        guard case .known(let number, let start) = reading else { return }
        fields.take(objectCache[number], container, from: start)
    }

    /// Writes the whole series key of the record to `key`, without secrets.
    private mutating func writeKey(_ scanner: borrowing JSONScanner) {
        key.truncate(to: 0)
        key.appendRoom(SeriesKey.headerSize)
        var lengths = InlineArray<10, UInt32>(repeating: SeriesKey.absent)
        for index in lengths.indices {
            guard let text = fields.text(at: index) else { continue }
            let start = key.count
            scanner.append(text, to: &key)
            redactor.replace(in: &key, from: start, isCode: RecordMember.isCode(index))
            lengths[index] = UInt32(truncatingIfNeeded: key.count &- start)
        }
        key.append(template)
        SeriesKey.store(
            fields.flags, fields.severity, code: fields.integer(.code), build: fields.integer(.build),
            line: fields.integer(.line), column: fields.integer(.column), lengths: lengths, template: template.count,
            in: &key, at: 0)
    }
}

/// The numbers of the series in the current directory, by short keys and by whole keys. A short key contains the
/// record's own part of the series key and the serials of its source and application.
struct SeriesKeyCache: Sendable {
    /// The size of all short keys, in bytes, at which they are removed.
    private static let maxShortBytes = 8 << 20

    /// Assigns the numbers.
    private(set) var directory: SeriesDirectory
    /// All series of the directory, by whole keys.
    private var series = InternTable()
    /// Short keys. A full table is cleared, because many of its keys may contain serials that are no longer used.
    private var keys = InternTable()
    /// The series number of each short key, indexed by the key's number in `keys`.
    private var numbers: [UInt32] = []

    init(generation: Int = 1) {
        directory = SeriesDirectory(generation: generation)
    }

    /// The low 32 bits of the directory's generation. A note in `ObjectCache` has no room for more.
    var generation: UInt32 { UInt32(truncatingIfNeeded: directory.generation) }

    /// Whether a new directory must be started before the next record.
    var isFull: Bool { directory.isFull }

    /// Starts a new directory. Numbers are valid until this is called.
    mutating func makeRoom() {
        directory = SeriesDirectory(generation: directory.generation + 1)
        series.removeAll()
        forgetShortKeys()
    }

    private mutating func forgetShortKeys() {
        keys.removeAll()
        numbers.removeAll(keepingCapacity: true)
    }

    /// Returns the number of the series with a short key; nil if the key is unknown.
    func find(_ key: Span<UInt8>, hash: UInt64) -> UInt32? {
        keys.find(key, at: 0, hash: hash).map { numbers[$0.number] }
    }

    /// Adds a short key, which must be new, and the number of its series.
    mutating func remember(_ number: UInt32, _ key: Span<UInt8>, hash: UInt64) {
        if keys.count >= SeriesDirectory.maxSeries || keys.byteCount >= Self.maxShortBytes {
            forgetShortKeys()
        }
        _ = keys.insert(key, from: 0, to: key.count, hash: hash)
        numbers.append(number)
    }

    /// Returns the number of the series with a whole key, which is added if it is new.
    mutating func number(of key: [UInt8], hash: UInt64) -> UInt32 {
        if let run = series.find(key.span, at: 0, hash: hash) { return UInt32(run.number) }
        _ = series.insert(key.span, from: 0, to: key.count, hash: hash)
        return directory.append(key)
    }
}

/// A cache of decoded source and application objects, keyed by their JSON text.
///
/// A program sends the same few objects again and again. Comparing their bytes costs a tenth of decoding them.
struct ObjectCache: Sendable {
    /// An object found in the cache.
    struct CachedObject {
        /// Its number in the cache, valid until the next call of `makeRoom`.
        var number: Int
        /// The size of its JSON text, in bytes.
        var byteCount: Int
        /// The number of its keys, including unknown ones.
        var keys: Int
    }

    /// The maximum size of a cached object, in bytes. Longer ones are decoded each time.
    static let maxBytes = 256
    /// The maximum number of objects: enough for the common objects of a host. Limits the cache to about 5 MiB.
    static let maxObjects = 8192

    /// The maximum size of a short key that is noted with its source, in bytes.
    private static let maxExpected = 176

    private var table = InternTable()
    private var fields: [ObjectFields] = []
    private let seed: UInt64
    /// The serial of the object with number 0.
    private var firstSerial: UInt64 = 1

    init(seed: UInt64) {
        self.seed = seed
    }

    /// Returns the object that starts at an index; nil if it is not in the cache.
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

    /// Returns the serial of an object. Numbers are reused after the cache was cleared, serials never are.
    @inline(__always)
    func serial(of number: Int) -> UInt64 { firstSerial &+ UInt64(truncatingIfNeeded: number) }

    /// Adds an object and returns its number; nil if the object is too long.
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

    /// Returns the series number last noted for a source if it was noted with this short key and generation; otherwise
    /// nil.
    @inline(__always)
    func expected(_ key: Span<UInt8>, from source: Int, generation: UInt32) -> UInt32? {
        guard let note = table.note(for: key, after: source), UInt32(truncatingIfNeeded: note >> 32) == generation
        else { return nil }
        return UInt32(truncatingIfNeeded: note)
    }

    /// Notes the last series of a source, unless the short key is too long. The same source location usually reports
    /// the same series.
    mutating func expect(_ series: UInt32, for key: Span<UInt8>, from source: Int, generation: UInt32) {
        guard key.count <= Self.maxExpected else { return }
        table.note(UInt64(generation) << 32 | UInt64(series), for: key, after: source)
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
    /// The end of an object is unknown until it is decoded. The hash therefore covers the bytes up to the first closing
    /// brace, at most `maxBytes`. It may leave out up to fifteen bytes at the end of the input.
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

/// The fields of a source or an application. The offsets of texts are relative to the start of the object.
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

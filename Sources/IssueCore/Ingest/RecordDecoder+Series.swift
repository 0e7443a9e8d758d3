package import IssueProtocol

extension RecordDecoder {
    /// Returns the number of the record's series in the batch's directory.
    ///
    /// The batch's copy of the directory may lack the number until `complete` is called.
    mutating func readSeries(_ scanner: borrowing JSONScanner, _ batch: inout RecordBatch) -> UInt32 {
        let number = readSeries(scanner)
        if isRenumbered(batch) {
            renewDirectory(of: &batch)
        } else if number >= batch.directory.count {
            lacksSeries = true
        }
        return number
    }

    /// Gives the batch a new copy of the directory if its copy lacks series of its records.
    ///
    /// Called once for many records: after a copy, the first series that is added copies the directory's tail, which
    /// costs as much as adding many others.
    @inline(__always)
    package mutating func complete(_ batch: inout RecordBatch) {
        guard lacksSeries else { return }
        lacksSeries = false
        batch.directory = series.directory
    }

    /// Returns the number of the record's series in the decoder's directory.
    private mutating func readSeries(_ scanner: borrowing JSONScanner) -> UInt32 {
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

    /// Returns the number of a series that is not the last one of its source.
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

    /// Returns `true` if the decoder has started a new directory since the batch got its copy.
    @inline(__always)
    private mutating func isRenumbered(_ batch: borrowing RecordBatch) -> Bool {
        batch.directory.generation != series.directory.generation
    }

    /// Gives the batch a copy of the current directory. If that is a new one, its records are renumbered.
    private mutating func renewDirectory(of batch: inout RecordBatch) {
        if isRenumbered(batch) {
            for index in batch.records.indices {
                let key = batch.directory.key(batch.records[index].series)
                batch.records[index].series = series.number(of: key, hash: hash(key.span, from: 0, to: key.count))
            }
        }
        batch.directory = series.directory
    }

    // MARK: Keys

    /// Returns the number that represents a source or an application in a short key. Nil if it is not in the cache.
    @inline(__always)
    private mutating func serial(of reading: ObjectReading) -> UInt64? {
        switch reading {
        case .absent: 0
        case .known(let number, _): objectCache.serial(of: number)
        case .read: nil
        }
    }

    /// Writes a short key, which identifies the series as long as the cached sources and applications keep their
    /// serials.
    ///
    ///     short ::= head code source app lengths domain fingerprint template
    ///
    /// - Returns: `false` if texts contain escapes, which a short key cannot hold.
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

/// The numbers of recently used series, by short keys. A short key contains the record's own part of the series key and
/// the serials of its source and application.
struct SeriesKeyCache: Sendable {
    private static let maxShortBytes = 8 << 20

    /// Assigns the numbers.
    private(set) var directory: SeriesDirectory
    /// All series of the directory, by whole keys.
    private var series = InternTable()
    /// Series by short keys. Cleared when outdated serials fill it.
    private var keys = InternTable()
    /// The series number of each short key.
    private var numbers: [UInt32] = []

    init(generation: Int = 1) {
        directory = SeriesDirectory(generation: generation)
    }

    /// The generation of the directory, truncated to the size of a note.
    var generation: UInt32 { UInt32(truncatingIfNeeded: directory.generation) }

    /// Whether the next record may need a new directory.
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

    /// Returns the number of the series with a short key, or nil if it is unknown.
    func find(_ key: Span<UInt8>, hash: UInt64) -> UInt32? {
        keys.find(key, at: 0, hash: hash).map { numbers[$0.number] }
    }

    /// Adds the number of the series with a short key.
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

/// The series that the records of a batch refer to by number: four bytes per record instead of a whole key.
///
/// The decoder adds to it and gives each batch a copy. Adding a key to a copied directory copies only `tail`, which is
/// short; the list of full chunks is copied once for each chunk.
package struct SeriesDirectory: Sendable {
    /// The identity of a numbering. A directory and all its copies share it, whatever was added since.
    package final class Identity: Sendable {}

    static let maxSeries = 32_768
    static let maxBytes = 16 << 20
    private static let pieceSize = 32

    /// The directory of an empty batch.
    static let none = SeriesDirectory(identity: nil, generation: 0)

    package let identity: Identity?
    /// The number of directories that the decoder has had, including this one.
    let generation: Int
    /// Pieces of `pieceSize` keys each.
    private var pieces: [[[UInt8]]] = []
    /// The keys after those of the full pieces.
    private var tail: [[UInt8]] = []
    private(set) var count: UInt32 = 0
    private var byteCount = 0

    private init(identity: Identity?, generation: Int) {
        self.identity = identity
        self.generation = generation
    }

    /// Creates an empty directory with its own numbering.
    init(generation: Int) {
        self.init(identity: Identity(), generation: generation)
    }

    /// `true` if new series should go into another directory.
    var isFull: Bool { count >= Self.maxSeries || byteCount >= Self.maxBytes }

    /// Adds a series with a key in the form of `SeriesKey` and returns its number.
    mutating func append(_ key: [UInt8]) -> UInt32 {
        tail.append(key)
        if tail.count == Self.pieceSize {
            pieces.append(tail)
            tail = []
        }
        count += 1
        byteCount += key.count
        return count - 1
    }

    /// Returns the key of a series.
    package func key(_ number: UInt32) -> [UInt8] {
        let (piece, index) = Int(number).quotientAndRemainder(dividingBy: Self.pieceSize)
        return piece < pieces.count ? pieces[piece][index] : tail[index]
    }
}

/// The properties that all records of a series have in common.
package struct SeriesDescription: Hashable, Sendable {
    package var severity = IssueLevel.error
    package var isReportable = true
    package var app = Application()
    package var domain: String?
    package var code: Int64?
    package var source = SourceLocation()
    /// The fingerprint chosen by the sender; nil if it chose none.
    package var fingerprint: String?
    package var template: [UInt8] = []

    package init() {}
}

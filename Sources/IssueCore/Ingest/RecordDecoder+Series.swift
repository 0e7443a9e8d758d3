package import IssueProtocol

extension RecordDecoder {
    /// The number of the record's series in the batch's directory.
    mutating func readSeries(_ scanner: borrowing JSONScanner, _ batch: inout RecordBatch) -> UInt32 {
        let number = readSeries(scanner)
        // Mostly the batch has met the number before, or another batch whose copy is as old.
        if number >= batch.directory.count || isRenumbered(batch) { turn(&batch) }
        return number
    }

    /// The number of the record's series in the decoder's directory.
    private mutating func readSeries(_ scanner: borrowing JSONScanner) -> UInt32 {
        guard let source = serial(of: fields.source), let app = serial(of: fields.app),
            writeShortKey(scanner, source, app)
        else { return wholeSeries(scanner) }
        if case .known(let number, _) = fields.source,
            let met = memo.expected(key.span, from: number, generation: series.generation)
        {
            return met
        }
        return unexpectedSeries(scanner)
    }

    /// The number of a series that is not the one that its source reported last.
    private mutating func unexpectedSeries(_ scanner: borrowing JSONScanner) -> UInt32 {
        let short = key
        let hash = hash(short.span, from: 0, to: short.count)
        let number: UInt32
        if let met = series.find(short.span, hash: hash) {
            number = met
        } else {
            number = wholeSeries(scanner)
            series.remember(number, short.span, hash: hash)
        }
        if case .known(let source, _) = fields.source {
            memo.expect(number, for: short.span, from: source, generation: series.generation)
        }
        return number
    }

    /// The number of the record's series by all that a series says.
    private mutating func wholeSeries(_ scanner: borrowing JSONScanner) -> UInt32 {
        takeOver(fields.source, .source)
        takeOver(fields.app, .app)
        writeKey(scanner)
        return series.number(of: key[0..<key.count], hash: hash(key.span, from: 0, to: key.count))
    }

    // MARK: The batch's directory

    /// Whether the batch's records go by the numbers of a directory that is full by now.
    @inline(__always)
    private mutating func isRenumbered(_ batch: borrowing RecordBatch) -> Bool {
        batch.directory.generation != series.directory.generation
    }

    /// Gives the batch what its records and those to come name, the former by their numbers there.
    private mutating func turn(_ batch: inout RecordBatch) {
        if isRenumbered(batch) {
            for index in batch.records.indices {
                let key = batch.directory.key(batch.records[index].series)
                batch.records[index].series = series.number(of: key, hash: hash(key.span, from: 0, to: key.count))
            }
        }
        batch.directory = series.directory
    }

    // MARK: Keys

    /// What stands for a source or an application in a short key; nothing where only its bytes can.
    @inline(__always)
    private mutating func serial(of reading: ObjectReading) -> UInt64? {
        switch reading {
        case .absent: 0
        case .known(let number, _): memo.serial(of: number)
        case .guessed, .read: nil
        }
    }

    /// Writes what tells the series apart from others as long as sources and applications have their serials; answers
    /// no where texts would first have to be resolved.
    ///
    ///     short ::= head code source app lengths domain fingerprint template
    @inline(__always)
    private mutating func writeShortKey(_ scanner: borrowing JSONScanner, _ source: UInt64, _ app: UInt64) -> Bool {
        let (domain, fingerprint) = (fields.text(.domain), fields.text(.fingerprint))
        if domain?.hasEscapes == true || fingerprint?.hasEscapes == true { return false }
        key.truncate(to: 0)
        key.appendRoom(40)
        var words = InlineArray<5, UInt64>(repeating: 0)
        let flags = fields.flags.intersection([.reportable, .code])
        words[0] = SeriesKey.head(flags, fields.severity, template: template.count)
        words[1] = UInt64(bitPattern: fields.integer(.code))
        words[2] = source
        words[3] = app
        words[4] = Self.length(of: domain) | Self.length(of: fingerprint) << 32
        key.store(words: words.span, at: 0)
        if let domain { key.append(scanner.bytes, from: domain.start, to: domain.end) }
        if let fingerprint { key.append(scanner.bytes, from: fingerprint.start, to: fingerprint.end) }
        key.append(template)
        return true
    }

    @inline(__always)
    private static func length(of text: JSONText?) -> UInt64 {
        UInt64(text.map { UInt32(truncatingIfNeeded: $0.count) } ?? SeriesKey.absent)
    }

    private mutating func takeOver(_ reading: ObjectReading, _ container: RecordContainer) {
        guard case .known(let number, let start) = reading else { return }
        fields.take(memo[number], container, from: start)
    }

    private mutating func writeKey(_ scanner: borrowing JSONScanner) {
        key.truncate(to: 0)
        key.appendRoom(SeriesKey.headerSize)
        var lengths = InlineArray<10, UInt32>(repeating: SeriesKey.absent)
        for place in lengths.indices {
            guard let text = fields.text(at: place) else { continue }
            let start = key.count
            scanner.append(text, to: &key)
            lengths[place] = UInt32(truncatingIfNeeded: key.count &- start)
        }
        key.append(template)
        SeriesKey.store(
            fields.flags, fields.severity, code: fields.integer(.code), build: fields.integer(.build),
            line: fields.integer(.line), column: fields.integer(.column), lengths: lengths, template: template.count,
            in: &key, at: 0)
    }
}

/// The numbers of the series met lately, by a key of few bytes: what a record says itself of its series, and which
/// source and application it has, by their serials.
struct SeriesKeyCache: Sendable {
    private static let maxShortBytes = 8 << 20

    /// Where the numbers are given.
    private(set) var directory: SeriesDirectory
    /// All series of the directory, by all that they say.
    private var series = InternTable()
    /// Those that were found by their short keys, which are forgotten where serials that mean nothing more fill them.
    private var keys = InternTable()
    /// For each short key the number of its series.
    private var numbers: [UInt32] = []

    init(generation: Int = 1) {
        directory = SeriesDirectory(generation: generation)
    }

    /// Whose numbers they are, cut to what a note has room for.
    var generation: UInt32 { UInt32(truncatingIfNeeded: directory.generation) }

    /// Begins another directory where the last is full, so that numbers mean what they did until this is called again.
    @inline(__always)
    mutating func makeRoom() {
        if directory.isFull { self = SeriesKeyCache(generation: directory.generation + 1) }
    }

    /// The number of the series with a short key, if it was met before.
    func find(_ key: Span<UInt8>, hash: UInt64) -> UInt32? {
        keys.find(key, at: 0, hash: hash).map { numbers[$0.number] }
    }

    /// Keeps the number of the series with a short key.
    mutating func remember(_ number: UInt32, _ key: Span<UInt8>, hash: UInt64) {
        if keys.count >= SeriesDirectory.maxSeries || keys.byteCount >= Self.maxShortBytes {
            keys.removeAll()
            numbers = []
        }
        _ = keys.insert(key, from: 0, to: key.count, hash: hash)
        numbers.append(number)
    }

    /// The number of the series with a whole key, which it has from now on.
    mutating func number(of key: [UInt8], hash: UInt64) -> UInt32 {
        if let run = series.find(key.span, at: 0, hash: hash) { return UInt32(run.number) }
        _ = series.insert(key.span, from: 0, to: key.count, hash: hash)
        return directory.append(key)
    }
}

/// The series that the records of a batch name by their numbers: a record says in four bytes what it shares with all
/// records of its series.
///
/// Whoever decodes adds to it, and gives a copy as it is to each batch. So that
/// a copy costs little and the next addition does too, the keys stand in pieces
/// of which only the last is copied.
package struct SeriesDirectory: Sendable {
    /// Whose numbers they are: the same for a directory and all of its copies, whatever was added since.
    package final class Identity: Sendable {}

    static let maxSeries = 32_768
    static let maxBytes = 16 << 20
    private static let pieceSize = 64

    /// What a batch has that holds no record yet.
    static let none = SeriesDirectory(identity: nil, generation: 0)

    package let identity: Identity?
    /// How many a decoder has had before, and this one.
    let generation: Int
    private var pieces: [[[UInt8]]] = []
    private(set) var count: UInt32 = 0
    private var byteCount = 0

    private init(identity: Identity?, generation: Int) {
        self.identity = identity
        self.generation = generation
    }

    /// A new one, with numbers of its own.
    init(generation: Int) {
        self.init(identity: Identity(), generation: generation)
    }

    /// Whether what is new is better kept in another one.
    var isFull: Bool { count >= Self.maxSeries || byteCount >= Self.maxBytes }

    /// Gives a number to the series with a key in the form of `SeriesKey`.
    mutating func append(_ key: [UInt8]) -> UInt32 {
        if Int(count) % Self.pieceSize == 0 { pieces.append([]) }
        pieces[pieces.count - 1].append(key)
        count += 1
        byteCount += key.count
        return count - 1
    }

    /// The key of a series.
    package func key(_ number: UInt32) -> [UInt8] {
        pieces[Int(number) / Self.pieceSize][Int(number) % Self.pieceSize]
    }
}

/// All that the records of a series have in common.
package struct SeriesDescription: Hashable, Sendable {
    package var severity = Severity.error
    package var isReportable = true
    package var app = Application()
    package var domain: String?
    package var code: Int64?
    package var source = SourceLocation()
    /// The fingerprint that the sender chose, if it did.
    package var fingerprint: String?
    package var template: [UInt8] = []

    package init() {}
}

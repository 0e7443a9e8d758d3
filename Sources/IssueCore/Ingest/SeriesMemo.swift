import IssueProtocol

/// The numbers of the series met lately, by a key of few bytes: what a record says itself of its series, and which
/// source and application it has, by their serials.
struct SeriesMemo: Sendable {
    private static let mostShortBytes = 8 << 20

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
        if directory.isFull { self = SeriesMemo(generation: directory.generation + 1) }
    }

    /// The number of the series with a short key, if it was met before.
    func find(_ key: Span<UInt8>, hash: UInt64) -> UInt32? {
        keys.find(key, at: 0, hash: hash).map { numbers[$0.number] }
    }

    /// Keeps the number of the series with a short key.
    mutating func remember(_ number: UInt32, _ key: Span<UInt8>, hash: UInt64) {
        if keys.count >= SeriesDirectory.mostSeries || keys.byteCount >= Self.mostShortBytes {
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

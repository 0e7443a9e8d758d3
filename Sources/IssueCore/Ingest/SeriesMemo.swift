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
    /// For each source, by its number, what came with it last: a place in a program mostly reports the same.
    private var expected: [Expectation] = []

    /// A short key, and the number of its series.
    private struct Expectation {
        var key = ByteRange.empty
        var number: UInt32 = 0
    }

    init(generation: Int = 1) {
        directory = SeriesDirectory(generation: generation)
    }

    /// Begins another directory where the last is full, so that numbers mean what they did until this is called again.
    @inline(__always)
    mutating func makeRoom() {
        if directory.isFull { self = SeriesMemo(generation: directory.generation + 1) }
    }

    /// The number of the series that was reported last from a source, if the short key is the same.
    @inline(__always)
    func findExpected(_ key: Span<UInt8>, from source: Int) -> UInt32? {
        guard source < expected.count else { return nil }
        let expectation = expected[source]
        return keys.isRun(at: expectation.key, key) ? expectation.number : nil
    }

    /// The number of the series with a short key, if it was met before; it is expected from its source now.
    mutating func find(_ key: Span<UInt8>, hash: UInt64, from source: Int?) -> UInt32? {
        guard let run = keys.find(key, at: 0, hash: hash) else { return nil }
        expect(run.number, from: source)
        return numbers[run.number]
    }

    /// Keeps the number of the series with a short key.
    mutating func remember(_ number: UInt32, _ key: Span<UInt8>, hash: UInt64, from source: Int?) {
        if keys.count >= SeriesDirectory.mostSeries || keys.byteCount >= Self.mostShortBytes {
            keys.removeAll()
            numbers = []
            expected = []
        }
        let place = keys.insert(key, from: 0, to: key.count, hash: hash)
        numbers.append(number)
        expect(place, from: source)
    }

    private mutating func expect(_ place: Int, from source: Int?) {
        guard let source else { return }
        while expected.count <= source { expected.append(Expectation()) }
        expected[source] = Expectation(key: keys.range(of: place), number: numbers[place])
    }

    /// The number of the series with a whole key, which it has from now on.
    mutating func number(of key: [UInt8], hash: UInt64) -> UInt32 {
        if let run = series.find(key.span, at: 0, hash: hash) { return UInt32(run.number) }
        _ = series.insert(key.span, from: 0, to: key.count, hash: hash)
        return directory.append(key)
    }
}

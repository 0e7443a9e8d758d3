/// The series that the records of a batch name by their numbers: a record says in four bytes what it shares with all
/// records of its series.
///
/// Whoever decodes adds to it, and gives a copy as it is to each batch. So that
/// a copy costs little and the next addition does too, the keys stand in pieces
/// of which only the last is copied.
package struct SeriesDirectory: Sendable {
    /// Whose numbers they are: the same for a directory and all of its copies, whatever was added since.
    package final class Identity: Sendable {}

    static let mostSeries = 32_768
    static let mostBytes = 16 << 20
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
    var isFull: Bool { count >= Self.mostSeries || byteCount >= Self.mostBytes }

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

/// The parts of a line that it shares with others, one after the other.
struct SharedParts {
    private let known: [[UInt8]]
    private var position = 0
    private(set) var written: [[UInt8]] = []

    /// - Parameter known: All of them as another line has them, or none.
    init(_ known: [[UInt8]]) {
        self.known = known
    }

    mutating func next() -> [UInt8]? {
        guard position < known.count else { return nil }
        defer { position += 1 }
        return known[position]
    }

    mutating func wrote(_ part: [UInt8]) { written.append(part) }
}

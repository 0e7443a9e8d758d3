import IssueCore

/// Removes from a destination's answer what it repeats of the lines that it was sent: those belong to the applications,
/// and an answer goes to readers of the log.
///
/// The work is linear in the length of the answer and of the lines.
struct EchoFilter {
    /// So many bytes in a row are no coincidence.
    private static let least = 16
    private static let width = 8
    private static let mark = "…"

    /// For each piece of eight bytes that was not met yet, where it ends last in the text.
    private var lastPlaces: [UInt64: Int] = [:]
    /// For each place, where the same piece ends before it; -1 for none.
    private var earlierPlaces: [Int]
    /// How many pieces that were not met yet fall into each slot. Most of what was sent is none of the pieces, and that
    /// is seen here at once.
    private var pending = [UInt16](repeating: 0, count: 1 << 16)
    private var isMet: [Bool]

    /// A text without what stands in the lines as well.
    static func cut(_ text: String, of lines: SentLines) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= least else { return text }
        precondition(bytes.count <= UInt16.max, "An answer is cut before it is compared with the lines")
        var filter = EchoFilter(bytes)
        for line in lines.all {
            if filter.lastPlaces.isEmpty { break }
            filter.look(through: line)
        }
        return filter.rest(of: bytes)
    }

    private init(_ text: [UInt8]) {
        isMet = [Bool](repeating: false, count: text.count)
        earlierPlaces = [Int](repeating: -1, count: text.count)
        var piece: UInt64 = 0
        for (index, byte) in text.enumerated() {
            piece = piece << 8 | UInt64(byte)
            guard index + 1 >= Self.width else { continue }
            if let earlier = lastPlaces.updateValue(index, forKey: piece) {
                earlierPlaces[index] = earlier
            } else {
                pending[Self.slot(of: piece)] += 1
            }
        }
    }

    private mutating func look(through line: [UInt8]) {
        var piece: UInt64 = 0
        for (index, byte) in line.enumerated() {
            piece = piece << 8 | UInt64(byte)
            let slot = Self.slot(of: piece)
            // A piece is looked for once only, however often the lines repeat it.
            guard pending[slot] > 0, index + 1 >= Self.width, var place = lastPlaces.removeValue(forKey: piece) else {
                continue
            }
            pending[slot] -= 1
            while place >= 0 {
                isMet[place] = true
                place = earlierPlaces[place]
            }
        }
    }

    private static func slot(of piece: UInt64) -> Int { Int((piece &* 0x9E37_79B9_7F4A_7C15) >> 48) }

    /// The text with a mark in the place of each run of pieces that were met, if it is long enough.
    private func rest(of text: [UInt8]) -> String {
        var rest: [UInt8] = []
        var copied = 0
        var end = 0
        while end < text.count {
            guard isMet[end] else {
                end += 1
                continue
            }
            let start = end + 1 - Self.width
            while end < text.count, isMet[end] { end += 1 }
            guard end - start >= Self.least else { continue }
            rest += text[copied..<max(copied, start)] + Array(Self.mark.utf8)
            copied = end
        }
        return String(decoding: rest + text[copied...], as: UTF8.self)
    }
}

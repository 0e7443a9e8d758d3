import IssueCore

/// Takes out of what a destination said what it repeats of what it was sent: that is the applications', and goes to
/// whoever reads the log.
struct EchoFilter {
    /// So many bytes in a row are no coincidence.
    private static let least = 16
    private static let width = 8
    private static let mark = "…"

    /// The pieces of the text, eight bytes each, and where each stands.
    private var places: [UInt64: [Int]] = [:]
    /// Most of what was sent is none of the pieces, and that is seen here at once.
    private var isLikely = [Bool](repeating: false, count: 1 << 16)
    private var isMet: [Bool]

    /// A text without what stands in the lines as well.
    static func cut(_ text: String, of lines: SentLines) -> String {
        let bytes = Array(text.utf8)
        guard bytes.count >= least else { return text }
        var filter = EchoFilter(bytes)
        for line in lines.all { filter.look(through: line) }
        return filter.rest(of: bytes)
    }

    private init(_ text: [UInt8]) {
        isMet = [Bool](repeating: false, count: text.count)
        var piece: UInt64 = 0
        for (index, byte) in text.enumerated() {
            piece = piece << 8 | UInt64(byte)
            guard index + 1 >= Self.width else { continue }
            places[piece, default: []].append(index)
            isLikely[Self.slot(of: piece)] = true
        }
    }

    private mutating func look(through line: [UInt8]) {
        var piece: UInt64 = 0
        for (index, byte) in line.enumerated() {
            piece = piece << 8 | UInt64(byte)
            guard isLikely[Self.slot(of: piece)], index + 1 >= Self.width else { continue }
            for place in places[piece] ?? [] { isMet[place] = true }
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

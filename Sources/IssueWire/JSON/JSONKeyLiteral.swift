/// A key as most writers write it, with its quotation marks and the colon: found where it is expected by one comparison.
public struct JSONKeyLiteral: Sendable {
    @usableFromInline let bytes: (UInt64, UInt64)
    @usableFromInline let mask: (UInt64, UInt64)
    @usableFromInline let count: Int

    /// The literal of a key; nothing for one of more than thirteen bytes.
    package init?(_ key: StaticString) {
        let text = Array("\"\(key)\":".utf8)
        guard text.count <= 16 else { return nil }
        let padded = text + [UInt8](repeating: 0, count: 16 - text.count)
        let covered = [UInt8](repeating: 0xFF, count: text.count) + [UInt8](repeating: 0, count: 16 - text.count)
        bytes = (padded.span.word(at: 0), padded.span.word(at: 8))
        mask = (covered.span.word(at: 0), covered.span.word(at: 8))
        count = text.count
    }
}

extension JSONScanner {
    /// Passes a member's key and its colon where they stand next just so; nothing is passed where they don't.
    @inlinable @inline(__always)
    public mutating func passKey(_ literal: JSONKeyLiteral) -> Bool {
        var start = position
        if followsValue {
            guard start < bytes.count, bytes[start] == UInt8(ascii: ",") else { return false }
            start &+= 1
        }
        guard start &+ 16 <= bytes.count, keys < maximumKeys else { return false }
        let first = (bytes.word(at: start) ^ literal.bytes.0) & literal.mask.0
        let second = (bytes.word(at: start &+ 8) ^ literal.bytes.1) & literal.mask.1
        guard first | second == 0 else { return false }
        keys &+= 1
        position = start &+ literal.count
        followsValue = false
        return true
    }
}

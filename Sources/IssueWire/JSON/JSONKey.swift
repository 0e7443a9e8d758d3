/// A JSON key in a form that is fast to compare: its length, its first eight bytes and its last eight.
///
/// Keys of at most 16 bytes are equal if their forms are equal. Longer keys of the same length that differ only in the
/// middle compare as equal; the interfaces in this package have no such keys.
public struct JSONKey: Hashable, Sendable {
    @usableFromInline let length: Int
    @usableFromInline let head: UInt64
    @usableFromInline let tail: UInt64

    /// Creates the form of a key.
    ///
    /// - Parameter key: The key.
    @inlinable
    public init(_ key: StaticString) {
        self.init(text: key.description)
    }

    /// Creates the form of a key.
    ///
    /// - Parameter text: The key.
    @inlinable
    public init(text: String) {
        let text = Array(text.utf8)
        self.init(text.span, from: 0, to: text.count)
    }

    /// Creates the form of a key in a range of bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the key.
    ///   - start: The index of the key's first byte.
    ///   - end: The index after the key's last byte.
    @inlinable @inline(__always)
    public init(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        length = end - start
        if length >= 8 {
            head = bytes.word(at: start)
            tail = bytes.word(at: end - 8)
        } else {
            var word: UInt64 = 0
            if start + 8 <= bytes.count {
                word = length == 0 ? 0 : bytes.word(at: start) & (UInt64.max >> UInt64(64 - 8 * length))
            } else {
                var index = end
                while index > start {
                    index -= 1
                    word = word << 8 | UInt64(bytes[index])
                }
            }
            head = word
            tail = 0
        }
    }

    /// Returns `true` if the forms of two keys are equal.
    ///
    /// - Parameters:
    ///   - left: A key.
    ///   - right: Another key.
    /// - Returns: `true` if they are equal.
    @inlinable @inline(__always)
    public static func == (left: JSONKey, right: JSONKey) -> Bool {
        left.head == right.head && left.length == right.length && left.tail == right.tail
    }

    /// Returns a hash of `bits` bits that differs between most of the keys of an interface. Depends only on the first
    /// eight bytes of the key.
    ///
    /// - Parameter bits: The number of bits, from 1 to 63.
    /// - Returns: The hash.
    @inlinable @inline(__always)
    public func hash(bits: Int) -> Int {
        Int(truncatingIfNeeded: (head &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 &- bits))
    }
}

/// A key with its quotation marks and the colon, without whitespace. It can be recognised with a single comparison.
public struct JSONKeyLiteral: Sendable {
    @usableFromInline let bytes: (UInt64, UInt64)
    @usableFromInline let mask: (UInt64, UInt64)
    @usableFromInline let count: Int

    /// Creates the literal of a key.
    ///
    /// - Returns: nil if the key has more than thirteen bytes.
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
    /// If the next member's key and colon match the literal exactly, skips both and the comma before them.
    ///
    /// - Parameter literal: The expected key.
    /// - Returns: `true` if the key was skipped. `false`, without skipping anything, if the key does not match, the
    ///   comma is missing, fewer than 16 bytes remain, or the maximum number of keys is reached.
    @inlinable @inline(__always)
    public mutating func skipKey(_ literal: JSONKeyLiteral) -> Bool {
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

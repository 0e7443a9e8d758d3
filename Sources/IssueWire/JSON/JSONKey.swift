/// A key in a form that is compared with one look: its length, its first eight bytes and its last eight.
///
/// Two keys of at most 16 bytes are equal when their forms are. A longer one is
/// told apart by what it is compared with: no interface of ours has two long
/// keys that differ only in their middle.
public struct JSONKey: Hashable, Sendable {
    @usableFromInline let length: Int
    @usableFromInline let head: UInt64
    @usableFromInline let tail: UInt64

    /// The key that a text of the program is.
    @inlinable
    public init(_ key: StaticString) {
        self.init(text: key.description)
    }

    /// The key that a text is.
    @inlinable
    public init(text: String) {
        let text = Array(text.utf8)
        self.init(text.span, from: 0, to: text.count)
    }

    /// The key that stands in a range of bytes.
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

    /// Whether two keys are the same.
    @inlinable @inline(__always)
    public static func == (left: JSONKey, right: JSONKey) -> Bool {
        left.head == right.head && left.length == right.length && left.tail == right.tail
    }

    /// A number of so many bits by which keys of one interface can be told apart mostly.
    @inlinable @inline(__always)
    public func hash(bits: Int) -> Int {
        Int(truncatingIfNeeded: (head &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 &- bits))
    }
}

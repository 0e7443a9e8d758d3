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

/// A key as most writers write it, with its quotation marks and the colon: found where it is expected by one
/// comparison.
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

extension JSONScanner {
    /// Enters an object whose members are then read one by one.
    @inline(never)
    package mutating func openFields() throws(FieldError) {
        do {
            try openObject()
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    /// The key of the next member, whose value must be read or skipped next; nothing when the object ends here.
    @inline(never)
    package mutating func nextField() throws(FieldError) -> String? {
        do {
            guard let key = try nextMember() else { return nil }
            return string(key)
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    /// Reads a member's value; `null` is none.
    @inline(never)
    package mutating func read<Value: JSONCodable>(_ value: inout Value?, _ key: String) throws(FieldError) {
        do {
            value = try passNull() ? nil : try Value(from: &self)
        } catch {
            throw error.inside(key)
        }
    }

    /// Reads a member that says how many of something are wanted.
    @inline(never)
    package mutating func readCount(_ count: inout Int?, _ key: String) throws(FieldError) {
        try read(&count, key)
        if let count, count < 1 { throw FieldError(field: key, reason: "must be at least 1") }
    }

    /// Reads a member's list; `null` is an empty one.
    @inline(never)
    package mutating func read<Element: JSONCodable>(_ list: inout [Element], _ key: String) throws(FieldError) {
        do {
            list = try passNull() ? [] : try [Element](from: &self)
        } catch {
            throw error.inside(key)
        }
    }

    /// Passes the value of a member that nobody knows: a later version of the protocol may.
    @inline(never)
    package mutating func skipField(_ key: String) throws(FieldError) {
        do {
            _ = try skipValue()
        } catch {
            throw FieldError(error, expected: "a value").inside(key)
        }
    }

    private mutating func passNull() throws(FieldError) -> Bool {
        do {
            return try null()
        } catch {
            throw FieldError(error, expected: "a value")
        }
    }
}

/// Which member of a JSON object is not what it should be, and why.
package struct FieldError: Error, Equatable, Sendable {
    /// The way to it, its steps parted by dots (`filter.codes.2`); empty for the whole value.
    package var field: String
    /// What is wrong, fit to stand behind the field's name and a colon.
    package var reason: String

    package init(field: String = "", reason: String) {
        self.field = field
        self.reason = reason
    }

    /// What a fault of the scanner means for somebody who asked for a certain kind of value.
    package init(_ error: JSONError, expected: String) {
        field = ""
        reason =
            switch error {
            case .wrongType: "must be \(expected)"
            case .notAnInteger: "must be an integer of 64 bits"
            case .tooDeep(let limit): "is nested deeper than \(limit)"
            case .tooManyKeys(let limit): "has more than \(limit) keys"
            case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .trailingBytes: "is malformed JSON"
            }
    }

    /// The same error, seen from the object or array in which the value stands.
    package func inside(_ step: String) -> FieldError {
        FieldError(field: field.isEmpty ? step : "\(step).\(field)", reason: reason)
    }
}

extension FieldError: CustomStringConvertible {
    package var description: String { field.isEmpty ? "the value \(reason)" : "\(field): \(reason)" }
}

extension Optional {
    /// The value of a member that must be there.
    package func required(_ field: String) throws(FieldError) -> Wrapped {
        guard let self else { throw FieldError(field: field, reason: "must be given") }
        return self
    }
}

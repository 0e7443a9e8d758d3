extension JSONScanner {
    /// Passes white space and answers the byte that follows, which stays unread.
    @inline(__always)
    mutating func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        let byte = bytes[position]
        guard byte <= 0x20 else { return byte }
        skipSpace()
        guard position < bytes.count else { throw .truncated }
        return bytes[position]
    }

    mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    mutating func open(_ bracket: UInt8) throws(JSONError) {
        guard try peek() == bracket else { throw mismatch() }
        guard depth < maximumDepth else { throw .tooDeep(limit: maximumDepth) }
        depth += 1
        position += 1
        followsValue = false
    }

    /// Passes the comma before another value and says that there is one, or passes the closing bracket and says no.
    @inline(__always)
    mutating func next(orEnd bracket: UInt8) throws(JSONError) -> Bool {
        let byte = try peek()
        if byte == bracket {
            position += 1
            depth -= 1
            followsValue = true
            return false
        }
        if followsValue {
            guard byte == UInt8(ascii: ",") else { throw .unexpectedByte(at: position) }
            position += 1
            // A closing bracket after a comma is refused by the value that is read next.
            if try peek() == bracket { throw .unexpectedByte(at: position) }
            followsValue = false
        }
        return true
    }

    /// Passes a key and the colon behind it.
    @inline(__always) @discardableResult
    mutating func passKey() throws(JSONError) -> JSONText {
        guard try peek() == UInt8(ascii: "\"") else { throw .unexpectedByte(at: position) }
        let key = try text()
        guard try peek() == UInt8(ascii: ":") else { throw .unexpectedByte(at: position) }
        position += 1
        followsValue = false
        return key
    }

    /// What to throw where the value that follows is not of the type that was asked for.
    mutating func mismatch() -> JSONError {
        do {
            _ = try kind()
            return .wrongType(at: position)
        } catch {
            return error
        }
    }

    mutating func skip() throws(JSONError) {
        switch try kind() {
        case .string: _ = try text()
        case .number: _ = try number()
        case .bool: _ = try bool()
        case .null: _ = try null()
        case .array:
            try openArray()
            while try nextElement() { try skip() }
        case .object:
            try openObject()
            while try nextMember() != nil { try skip() }
        }
    }

    mutating func word(_ word: StaticString) throws(JSONError) {
        for byte in word.description.utf8 {
            guard position < bytes.count else { throw .truncated }
            guard bytes[position] == byte else { throw .unexpectedByte(at: position) }
            position += 1
        }
        followsValue = true
    }

    func digitsEnd(from start: Int) throws(JSONError) -> Int {
        var index = start
        while index < bytes.count, Self.isDigit(bytes[index]) { index += 1 }
        guard index > start else { throw index < bytes.count ? .unexpectedByte(at: index) : .truncated }
        return index
    }

    /// Where the escape that starts at a backslash ends, both halves of a surrogate pair taken together.
    func escapeEnd(at backslash: Int) throws(JSONError) -> Int {
        guard backslash + 1 < bytes.count else { throw .truncated }
        switch bytes[backslash + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return backslash + 2
        case UInt8(ascii: "u"):
            let unit = try codeUnit(at: backslash)
            switch unit {
            case 0xD800...0xDBFF:
                let second = backslash + 6
                guard second + 1 < bytes.count else { throw .truncated }
                guard bytes[second] == UInt8(ascii: "\\"), bytes[second + 1] == UInt8(ascii: "u"),
                    case 0xDC00...0xDFFF = try codeUnit(at: second)
                else { throw .invalidEscape(at: backslash) }
                return second + 6
            case 0xDC00...0xDFFF: throw .invalidEscape(at: backslash)
            default: return backslash + 6
            }
        default: throw .invalidEscape(at: backslash)
        }
    }

    /// The four hexadecimal digits of the `\u` escape at a backslash.
    func codeUnit(at backslash: Int) throws(JSONError) -> UInt32 {
        guard backslash + 6 <= bytes.count else { throw .truncated }
        var unit: UInt32 = 0
        for index in (backslash + 2)..<(backslash + 6) {
            guard let digit = Self.hexDigit(bytes[index]) else { throw .invalidEscape(at: backslash) }
            unit = unit << 4 | digit
        }
        return unit
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    @inline(__always)
    static func appending(_ digit: UInt8, to value: Int64?, isNegative: Bool) -> Int64? {
        guard let value else { return nil }
        let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
        let amount = Int64(digit - UInt8(ascii: "0"))
        let (sum, sumOverflow) =
            isNegative ? tens.subtractingReportingOverflow(amount) : tens.addingReportingOverflow(amount)
        return overflow || sumOverflow ? nil : sum
    }
}

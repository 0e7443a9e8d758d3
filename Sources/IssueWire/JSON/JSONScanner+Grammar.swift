extension JSONScanner {
    /// Skips whitespace and returns the next byte, which stays unread.
    @inlinable @inline(__always)
    mutating func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        let byte = bytes[position]
        return byte > 0x20 ? byte : try peekPastSpace()
    }

    @usableFromInline
    mutating func peekPastSpace() throws(JSONError) -> UInt8 {
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

    @inlinable @inline(__always)
    mutating func open(_ bracket: UInt8) throws(JSONError) {
        guard try peek() == bracket else { throw mismatch() }
        guard depth < maximumDepth else { throw .tooDeep(limit: maximumDepth) }
        depth += 1
        position += 1
        followsValue = false
    }

    /// Returns `true` if another element or member follows, after skipping the comma before it. At the end, skips the
    /// closing bracket and returns `false`.
    @inlinable @inline(__always)
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
            // The comma must not be followed by the closing bracket.
            if try peek() == bracket { throw .unexpectedByte(at: position) }
            followsValue = false
        }
        return true
    }

    /// Reads the next member's key and colon in their most common form: no whitespace around the key, no escapes,
    /// ASCII only.
    ///
    /// Reads nothing and returns nil in any other form, and possibly near the end of the bytes.
    @inlinable @inline(__always)
    mutating func plainKey() -> JSONText? {
        var start = position
        if followsValue {
            guard start < bytes.count, bytes[start] == UInt8(ascii: ",") else { return nil }
            start &+= 1
        }
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return nil }
        start &+= 1
        let end = plainEnd(from: start)
        guard end &+ 1 < bytes.count, bytes[end] == UInt8(ascii: "\""), bytes[end &+ 1] == UInt8(ascii: ":") else {
            return nil
        }
        position = end &+ 2
        followsValue = false
        return JSONText(start: start, end: end, hasEscapes: false)
    }

    /// If the closing bracket of an object immediately follows a value, skips the bracket and returns `true`.
    @inlinable @inline(__always)
    mutating func skipPlainEnd() -> Bool {
        guard followsValue, position < bytes.count, bytes[position] == UInt8(ascii: "}") else { return false }
        position &+= 1
        depth &-= 1
        return true
    }

    @usableFromInline
    mutating func nextMemberInAnyForm() throws(JSONError) -> JSONText? {
        guard try next(orEnd: UInt8(ascii: "}")) else { return nil }
        let key = try readKey()
        try countKey()
        return key
    }

    @inlinable @inline(__always)
    mutating func countKey() throws(JSONError) {
        keys &+= 1
        guard keys <= maximumKeys else { throw .tooManyKeys(limit: maximumKeys) }
    }

    /// Reads a key and the colon after it.
    @discardableResult
    mutating func readKey() throws(JSONError) -> JSONText {
        guard try peek() == UInt8(ascii: "\"") else { throw .unexpectedByte(at: position) }
        let key = try text()
        guard try peek() == UInt8(ascii: ":") else { throw .unexpectedByte(at: position) }
        position += 1
        followsValue = false
        return key
    }

    /// Returns the index of the first byte that is a quotation mark, a backslash, a control character or not ASCII.
    /// Near the end of the bytes, the index may be lower.
    @inlinable @inline(__always)
    func plainEnd(from start: Int) -> Int {
        let index = bytes.scan(from: start, to: bytes.count) { ByteMask.stringStops(in: $0) }
        guard index &+ 16 > bytes.count, index &+ 8 <= bytes.count else { return index }
        let stops = ByteMask.stringStops(in: bytes.word(at: index))
        return index &+ (stops == 0 ? 8 : stops.trailingZeroBitCount >> 3)
    }

    /// Reads the rest of a string whose contents begin at `start`. `first` is the result of `plainEnd(from: start)`.
    @usableFromInline
    mutating func textInAnyForm(from start: Int, at first: Int) throws(JSONError) -> JSONText {
        var index = first
        var (isASCII, hasEscapes) = (true, false)
        while true {
            index = isASCII ? plainEnd(from: index) : bytes.scan(from: index, to: bytes.count, for: ByteMask.escapes)
            guard index < bytes.count else { throw .truncated }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                if !isASCII { try checkUTF8(start..<index) }
                position = index + 1
                followsValue = true
                return JSONText(start: start, end: index, hasEscapes: hasEscapes)
            } else if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                index = try escapeEnd(at: index)
            } else if byte < 0x20 {
                throw .unexpectedByte(at: index)
            } else {
                if byte >= 0x80 { isASCII = false }
                index += 1
            }
        }
    }

    /// Throws `JSONError.invalidUTF8` unless the bytes of a range are well-formed UTF-8.
    private func checkUTF8(_ range: Range<Int>) throws(JSONError) {
        do {
            _ = try UTF8Span(validating: bytes.extracting(range))
        } catch {
            throw .invalidUTF8(at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    /// Reads an integer in its most common form: at most 18 digits, without a sign, and not beginning with 0. Reads
    /// nothing and returns nil in any other form, and if the bytes end with the last digit.
    @inlinable @inline(__always)
    mutating func plainInteger() -> Int64? {
        let start = position
        guard start < bytes.count, bytes[start] &- UInt8(ascii: "1") <= 8 else { return nil }
        var value: Int64 = 0
        var index = start
        while index < bytes.count, Self.isDigit(bytes[index]) {
            // This overflows only beyond 18 digits; the number is then read again in its general form.
            value = value &* 10 &+ Int64(bytes[index] &- UInt8(ascii: "0"))
            index &+= 1
        }
        guard index < bytes.count, index &- start <= 18, bytes[index] != UInt8(ascii: "."),
            bytes[index] | 0x20 != UInt8(ascii: "e")
        else { return nil }
        position = index
        followsValue = true
        return value
    }

    @usableFromInline
    mutating func nullWord() throws(JSONError) {
        try word(.null)
    }

    /// Returns the error for a value whose type is not the expected one; the syntax error if no value begins here.
    @usableFromInline
    mutating func mismatch() -> JSONError {
        do {
            _ = try kind()
            return .wrongType(at: position)
        } catch {
            return error
        }
    }

    mutating func skip() throws(JSONError) {
        switch try peek() {
        case UInt8(ascii: "\""): _ = try text()
        case UInt8(ascii: "{"):
            try openObject()
            while try nextMember() != nil { try skip() }
        case UInt8(ascii: "["):
            try openArray()
            while try nextElement() { try skip() }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number()
        case UInt8(ascii: "t"): try word(.true)
        case UInt8(ascii: "f"): try word(.false)
        case UInt8(ascii: "n"): try word(.null)
        default: throw .unexpectedByte(at: position)
        }
    }

    /// Skips one of the constants `true`, `false` and `null`.
    @inline(__always)
    mutating func word(_ word: JSONConstant) throws(JSONError) {
        let end = position &+ word.count
        if position &+ 8 <= bytes.count, bytes.word(at: position) & word.mask == word.letters {
            position = end
        } else {
            try skipLetters(of: word)
        }
        followsValue = true
    }

    private mutating func skipLetters(of word: JSONConstant) throws(JSONError) {
        for letter in 0..<word.count {
            guard position < bytes.count else { throw .truncated }
            guard bytes[position] == UInt8(truncatingIfNeeded: word.letters >> (8 * UInt64(letter))) else {
                throw .unexpectedByte(at: position)
            }
            position += 1
        }
    }

    func digitsEnd(from start: Int) throws(JSONError) -> Int {
        var index = start
        while index < bytes.count, Self.isDigit(bytes[index]) { index += 1 }
        guard index > start else { throw index < bytes.count ? .unexpectedByte(at: index) : .truncated }
        return index
    }

    /// Returns the index after the escape that starts at a backslash. A surrogate pair counts as one escape.
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

    /// Returns the value of the four hexadecimal digits of the `\u` escape at a backslash.
    func codeUnit(at backslash: Int) throws(JSONError) -> UInt32 {
        guard backslash + 6 <= bytes.count else { throw .truncated }
        var unit: UInt32 = 0
        for index in (backslash + 2)..<(backslash + 6) {
            guard let digit = Self.hexDigit(bytes[index]) else { throw .invalidEscape(at: backslash) }
            unit = unit << 4 | digit
        }
        return unit
    }

    @inlinable @inline(__always)
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

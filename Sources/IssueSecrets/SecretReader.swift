import IssueWire

/// Searches a text for values to which rules apply, and for the marks of removed values.
///
/// Vector comparisons find the *candidates*: the few indexes at or near which there may be a value or its name. The
/// rest of the text is not examined. The work is linear. To examine a candidate, the reader looks back over a bounded
/// number of bytes, or only to the previous candidate of the same kind. If it looks ahead over an unbounded number of
/// bytes, it does not do so again for candidates among these bytes.
struct SecretReader: ~Escapable {
    let bytes: Span<UInt8>
    let start: Int
    let end: Int
    let rules: RedactionRuleSet
    let names: ConfiguredNames?
    /// Whether the candidates for IP addresses and for configured names are also examined.
    let examinesMore: Bool
    /// The index at or after which the next candidate is examined.
    var position: Int
    /// The start of the window of sixteen bytes that was searched last, and the remaining candidates in it.
    private var windowStart: Int
    private var candidatesLeft: (UInt64, UInt64) = (0, 0)
    /// The end of the value or mark that was found last. No value extends back across it.
    var lowest: Int
    /// The index after the at sign that was examined last. Neither the user of a URL nor an e-mail address extends back
    /// across it.
    var signEnd: Int
    /// The option `-p` that was examined last, and the program before it.
    var lastOption: CommandOption?
    /// The end of the last run of token characters that has no digit. That run is not searched for further tokens of
    /// services.
    var digitlessEnd: Int
    /// The first index around which a name is looked for: usually the end of the run of name characters that was
    /// examined last, because all candidates in a run have the same name.
    var nameRunEnd: Int
    /// The index up to which the text after the name of Logz.io was searched for a token.
    var logzEnd: Int

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, from start: Int, to end: Int, _ rules: RedactionRuleSet, _ names: ConfiguredNames?) {
        self.bytes = bytes
        self.start = start
        self.end = end
        self.rules = rules
        self.names = names
        examinesMore = Self.examinesMore(rules, names)
        position = start
        windowStart = start - 16
        lowest = start
        signEnd = start
        digitlessEnd = start
        nameRunEnd = start
        logzEnd = start
    }

    /// Returns `true` if the usual candidates do not suffice, because IP addresses or configured names must be found.
    static func examinesMore(_ rules: RedactionRuleSet, _ names: ConfiguredNames?) -> Bool {
        rules.contains(.ip) || names?.hasSecretNames == true
    }

    /// Returns the next value or mark; nil if there is none.
    mutating func next() -> RedactionMatch? {
        while true {
            position = nextCandidate()
            guard position < end else { return nil }
            let index = position
            position += 1
            guard let match = match(at: index) else { continue }
            position = max(match.end, index + 1)
            lowest = match.end
            // The rest of the run is a separate name.
            nameRunEnd = match.end
            return match
        }
    }

    /// Returns `true` if values may be found in JSON, whose escapes are not resolved.
    ///
    /// May return `true` for JSON without such values.
    mutating func mayFindInJSON() -> Bool {
        while true {
            position = nextCandidate()
            guard position < end else { return false }
            let index = position
            position += 1
            switch bytes[index] {
            case UInt8(ascii: "\\"):
                // Any character of a value or of its name may be escaped.
                return true
            case UInt8(ascii: "-"):
                // In a JSON array of arguments, `-p` and its program are separate elements.
                if rules.contains(.password) { return true }
            case UInt8(ascii: "@"):
                // An escaped slash may precede the user of a URL.
                if rules.contains(.urlauth) || rules.contains(.email), mayBeAddress(around: index) { return true }
                signEnd = index + 1
            case UInt8(ascii: "="), UInt8(ascii: ":"):
                if bytes[index] == UInt8(ascii: ":"), rules.contains(.ip), ipv6(around: index) != nil { return true }
                if hasConfiguredName(before: index) { return true }
            case let byte where ByteClass.isLetter(byte):
                if name(around: index) != nil { return true }
                if match(at: index) != nil { return true }
            default: if match(at: index) != nil { return true }
            }
        }
    }

    private func mayBeAddress(around sign: Int) -> Bool {
        guard sign > start, sign + 1 < end else { return false }
        if rules.contains(.email), ByteClass.inMailbox(bytes[sign - 1]), isWordByte(sign + 1) { return true }
        guard rules.contains(.urlauth) else { return false }
        var index = sign
        while index > max(signEnd, start) {
            index -= 1
            switch bytes[index] {
            case UInt8(ascii: "/"): return true
            case UInt8(ascii: " "), UInt8(ascii: "\""): return false
            default: break
            }
        }
        return false
    }

    // MARK: Candidates

    /// Returns the first candidate at or after `position`; `end` or a higher index if there is none.
    ///
    /// Each window is searched once, however many candidates it has.
    private mutating func nextCandidate() -> Int {
        while true {
            while candidatesLeft.0 | candidatesLeft.1 != 0 {
                let index: Int
                if candidatesLeft.0 != 0 {
                    index = windowStart &+ candidatesLeft.0.trailingZeroBitCount >> 3
                    candidatesLeft.0 &= candidatesLeft.0 &- 1
                } else {
                    index = windowStart &+ 8 &+ candidatesLeft.1.trailingZeroBitCount >> 3
                    candidatesLeft.1 &= candidatesLeft.1 &- 1
                }
                if index >= position, index >= end || isCandidate(index) { return index }
            }
            var next = max(position, windowStart &+ 16)
            while next < end, next &+ 29 <= bytes.count {
                candidatesLeft =
                    examinesMore
                    ? bytes.window(
                        at: next, for: { Self.any(Self.usual($0, $1, $2, $3, $4, $5), $0) },
                        exact: { Self.any(Self.exact($0, $1, $2, $3, $4, $5), $0) })
                    : bytes.window(
                        at: next, for: { Self.usual($0, $1, $2, $3, $4, $5) },
                        exact: { Self.exact($0, $1, $2, $3, $4, $5) })
                if candidatesLeft.0 | candidatesLeft.1 != 0 { break }
                next &+= 16
            }
            windowStart = next
            if candidatesLeft.0 | candidatesLeft.1 != 0 { continue }
            // The last bytes are examined one by one.
            while next < end, !isCandidate(next) { next &+= 1 }
            windowStart = next &- 16
            return next
        }
    }

    private func isCandidate(_ index: Int) -> Bool {
        examinesMore ? Self.isAnyCandidate(bytes, index) : Self.isUsualCandidate(bytes, index)
    }

    /// Adds the candidates for IP addresses and for configured names.
    @inline(__always)
    private static func any(_ usual: ByteMask.Found, _ b0: ByteMask.Vector) -> ByteMask.Found {
        usual .| (b0 .== ByteMask.of(".")) .| (b0 .== ByteMask.of(":")) .| (b0 .== ByteMask.of("="))
    }

    private static func isAnyCandidate(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        switch bytes[index] {
        case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "="): true
        default: isUsualCandidate(bytes, index)
        }
    }

    /// Selects possible candidates by the bytes at distances 0, 1, 2, 3, 10 and 13. Also selects each index before a
    /// byte that is not ASCII.
    @inline(__always)
    private static func usual(
        _ b0: ByteMask.Vector, _ b1: ByteMask.Vector, _ b2: ByteMask.Vector, _ b3: ByteMask.Vector,
        _ b10: ByteMask.Vector, _ b13: ByteMask.Vector
    ) -> ByteMask.Found {
        ascii(b0, b1, b2, b3, b10, b13) .| (b1 .< ByteMask.Vector(repeating: 0))
    }

    /// Selects possible candidates by comparing ASCII characters.
    ///
    /// Names and words are found by some of their letters: "pas" and "pwd", "cr" (secret, credentials), "k" (token,
    /// cookie, key), "uth" (authorization), "bea" (bearer) and "z" (logz). The capital letters from H to K are in
    /// `eyJ`, `AKIA` and `-----BEGIN`. The tokens of services contain "gh", "pat" or "x" (xoxb), and "sen" and "san"
    /// are in words for "password" in other languages. However its digits are grouped, a card number has digits at
    /// distances 0, 10 and 13, unless its separators are not ASCII. Each comparison here adds about one percent to the
    /// time for decoding a record.
    @inline(__always)
    private static func ascii(
        _ b0: ByteMask.Vector, _ b1: ByteMask.Vector, _ b2: ByteMask.Vector, _ b3: ByteMask.Vector,
        _ b10: ByteMask.Vector, _ b13: ByteMask.Vector
    ) -> ByteMask.Found {
        let small = ByteMask.of(" ")
        let (l0, l2) = (b0 | small, b2 | small)
        // The codes of d and t differ in one bit, and so do those of x and z.
        let (one, two) = (ByteMask.Vector(repeating: 0x10), ByteMask.Vector(repeating: 2))
        let pass = (l0 .== ByteMask.of("p")) .& ((l2 .== ByteMask.of("s")) .| ((l2 | one) .== ByteMask.of("t")))
        let secret = (l0 .== ByteMask.of("c")) .& ((b1 | small) .== ByteMask.of("r"))
        let auth = (l0 .== ByteMask.of("u")) .& (l2 .== ByteMask.of("h"))
        let bearer = (l0 .== ByteMask.of("b")) .& (l2 .== ByteMask.of("a"))
        let foreign = (l0 .== ByteMask.of("s")) .& (l2 .== ByteMask.of("n"))
        let hub = (b0 .== ByteMask.of("g")) .& (b1 .== ByteMask.of("h"))
        let option = (b0 .== ByteMask.of("-")) .& (b1 .== ByteMask.of("p"))
        let letters = (l0 .== ByteMask.of("k")) .| ((l0 | two) .== ByteMask.of("z"))
        let signs = (b0 .== ByteMask.of("@")) .| (b0 .== ByteMask.of("\\"))
        let capitals = (b0 & ByteMask.Vector(repeating: -4)) .== ByteMask.of("H")
        // The high half of a digit is 3, and the three high bits of a capital letter are 010.
        let (three, capital) = (ByteMask.of("0"), ByteMask.of("@"))
        let card = ((b0 ^ three) | (b10 ^ three) | (b13 ^ three)) & ByteMask.Vector(repeating: -16)
        let account = ((b0 ^ capital) | (b2 ^ three) | (b3 ^ three)) & ByteMask.Vector(repeating: -32)
        let none = ByteMask.Vector(repeating: 0)
        let words = pass .| secret .| auth .| bearer .| foreign .| hub .| option .| letters
        return words .| signs .| capitals .| (card .== none) .| (account .== none)
    }

    /// Selects possible candidates in a window with bytes that are not ASCII. A digit before a separator that is not
    /// ASCII may be part of a card number. Some foreign words for "password" contain "señ" (contraseña), "ол" (пароль)
    /// or 密.
    @inline(__always)
    private static func exact(
        _ b0: ByteMask.Vector, _ b1: ByteMask.Vector, _ b2: ByteMask.Vector, _ b3: ByteMask.Vector,
        _ b10: ByteMask.Vector, _ b13: ByteMask.Vector
    ) -> ByteMask.Found {
        func byte(_ byte: UInt8) -> ByteMask.Vector { ByteMask.Vector(repeating: Int8(bitPattern: byte)) }
        let none = ByteMask.Vector(repeating: 0)
        let groups = (((b0 ^ ByteMask.of("0")) & ByteMask.Vector(repeating: -16)) .== none) .& (b1 .< none)
        let latin = ((b0 | ByteMask.of(" ")) .== ByteMask.of("s")) .& (b2 .== byte(0xC3))
        let others = (b1 .== byte(0xBE)) .& (b3 .== byte(0xBB)) .| (b1 .== byte(0xAF)) .& (b2 .== byte(0x86))
        return ascii(b0, b1, b2, b3, b10, b13) .| groups .| latin .| others
    }

    /// Returns `true` if an index is one of the usual candidates.
    @inline(never)
    private static func isUsualCandidate(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        @inline(__always)
        func byte(_ distance: Int) -> UInt8 {
            let index = index &+ distance
            return index >= 0 && index < bytes.count ? bytes[index] : 0
        }
        @inline(__always)
        func has(_ letter: Unicode.Scalar, _ distance: Int) -> Bool { byte(distance) | 0x20 == UInt8(ascii: letter) }
        switch bytes[index] {
        case UInt8(ascii: "@"): return true
        case UInt8(ascii: "\\"):
            if byte(1) == UInt8(ascii: "u") { return true }
            // In JSON, the letter of an escape such as `\n` would otherwise count as the first letter of the next word.
            return ByteClass.isLetter(byte(1)) && byte(2) > UInt8(ascii: " ") && !isQuote(byte(2))
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            // The last digit before a separator that is not ASCII.
            if byte(1) >= 0x80 { return ByteClass.isDigit(byte(-1)) && ByteClass.isDigit(byte(-3)) }
            // The first digit of a group.
            return ByteClass.isDigit(byte(1)) && ByteClass.isDigit(byte(3)) && ByteClass.isDigit(byte(10))
                && ByteClass.isDigit(byte(13)) && !ByteClass.inWord(byte(-1))
        case UInt8(ascii: "p"), UInt8(ascii: "P"):
            if has("w", 1), has("d", 2) { return true }
            // The end of `github_pat_` and `glpat-`.
            if has("a", 1), has("t", 2) { return byte(3) == UInt8(ascii: "_") || byte(3) == UInt8(ascii: "-") }
            if has("a", 1), has("s", 2), has("s", 3) {
                return has("w", 4) || has("p", 4) || has("c", 4) || has("o", 4) && has("r", 5)
                    || has("e", 4) && (has("s", 5) || !ByteClass.isLetter(byte(5)))
                    || !ByteClass.isLetter(byte(4)) || ByteClass.isCapital(byte(4))
            }
        case UInt8(ascii: "c"), UInt8(ascii: "C"):
            if has("r", 1), has("e", 2) {
                if has("t", 3), has("e", -1), has("s", -2) { return true }
                if has("d", 3), has("e", 4), has("n", 5) { return true }
            }
        case UInt8(ascii: "k"), UInt8(ascii: "K"):
            if has("o", -1), has("e", 1) && has("n", 2) && has("t", -2) || has("i", 1) && has("o", -2) { return true }
            if has("e", 1), has("y", 2), mayPrecedeKey(bytes, index) { return true }
            // Kennwort and adgangskode.
            if has("e", 1), has("n", 2), has("n", 3) { return true }
            if has("o", 1), has("d", 2), has("s", -1), has("g", -2) { return true }
        case UInt8(ascii: "g"): if byte(1) == UInt8(ascii: "h"), byte(3) == UInt8(ascii: "_") { return true }
        case UInt8(ascii: "x"): return byte(1) == UInt8(ascii: "o") && byte(2) == UInt8(ascii: "x")
        case UInt8(ascii: "-"):
            return byte(1) == UInt8(ascii: "p") && (isBlank(byte(-1)) || isQuote(byte(-1)))
        case UInt8(ascii: "s"), UInt8(ascii: "S"):
            if has("e", 1) { return has("n", 2) && (has("h", 3) || has("a", 3) || has("o", 3)) || byte(2) == 0xC3 }
            if has("a", 1), has("n", 2), has("a", 3), has("a", -1), has("l", -2) { return true }
        case 0xD0: return byte(1) == 0xBE && byte(3) == 0xBB && byte(4) == 0xD1
        case 0xE5: return byte(1) == 0xAF && byte(2) == 0x86
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            if has("t", 1), has("h", 2), has("a", -1) {
                return !has("e", 3) && !(has("o", 3) && has("r", 4) && !(has("i", 5) && has("z", 6) && has("a", 7)))
            }
        case UInt8(ascii: "b"), UInt8(ascii: "B"):
            if has("e", 1), has("a", 2), has("r", 3), has("e", 4), has("r", 5) { return true }
        case UInt8(ascii: "z"), UInt8(ascii: "Z"):
            if has("g", -1), has("o", -2), has("l", -3) { return true }
            if has("u", 1), has("g", 2), has("a", 3) { return true }
        case UInt8(ascii: "J"): return byte(-1) == UInt8(ascii: "y") && byte(-2) == UInt8(ascii: "e")
        case UInt8(ascii: "I"):
            if byte(1) == UInt8(ascii: "A"), byte(-2) == UInt8(ascii: "A") { return true }
            if byte(1) == UInt8(ascii: "N"), byte(-1) == UInt8(ascii: "G"), byte(-4) == UInt8(ascii: "-") {
                return true
            }
        default: break
        }
        return mayStartAccount(bytes, index)
    }

    /// Returns `true` if an index may be the start of an account number: two capital letters and two digits.
    @inline(__always)
    private static func mayStartAccount(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        index + 3 < bytes.count && ByteClass.isCapital(bytes[index]) && ByteClass.isCapital(bytes[index + 1])
            && ByteClass.isDigit(bytes[index + 2]) && ByteClass.isDigit(bytes[index + 3])
            && (index == 0 || !ByteClass.inWord(bytes[index - 1]))
    }

    /// Returns `true` if the word before "key" may be the first word of a secret's name, such as "api" or "access".
    private static func mayPrecedeKey(_ bytes: Span<UInt8>, _ key: Int) -> Bool {
        guard key >= 3 else { return false }
        let last = ByteClass.isLetter(bytes[key - 1]) ? key - 1 : key - 2
        guard last >= 1 else { return false }
        let pair = UInt16(bytes[last - 1] | 0x20) << 8 | UInt16(bytes[last] | 0x20)
        return keyPredecessors.contains(pair)
    }

    /// The last two letters of the words before "key", as in `SensitiveNames`.
    private static let keyPredecessors: [UInt16] = [
        "api", "access", "secret", "subscription", "auth", "account", "shared", "private", "signing", "master",
    ].map { word in word.utf8.suffix(2).reduce(0) { $0 << 8 | UInt16($1) } }

    // MARK: Matches

    /// Returns the value or mark to which a candidate leads; nil if there is none.
    private mutating func match(at index: Int) -> RedactionMatch? {
        switch bytes[index] {
        case UInt8(ascii: "@"):
            defer { signEnd = index + 1 }
            return mark(around: index) ?? urlUser(before: index) ?? mailbox(around: index)
        case UInt8(ascii: "."): return rules.contains(.ip) ? ipv4(around: index) : nil
        case UInt8(ascii: ":"):
            if rules.contains(.ip), let match = ipv6(around: index) { return match }
            return configuredValue(before: index)
        case UInt8(ascii: "="): return configuredValue(before: index)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return number(at: index)
        case UInt8(ascii: "J") where index > start && bytes[index - 1] == UInt8(ascii: "y"):
            return jsonToken(at: index - 1)
        case UInt8(ascii: "I"):
            // The third letter of an access key of AWS, or the fourth of "BEGIN" after five hyphens.
            return accessKey(at: index) ?? privateKey(at: index - 8) ?? account(at: index)
        case UInt8(ascii: "-"): return optionPassword(at: index)
        case let byte where byte >= 0x80: return foreignName(around: index).flatMap { value(of: $0, .password) }
        case let byte where ByteClass.isLetter(byte):
            if let match = account(at: index) { return match }
            // Nothing but a configured name can be found at the start of a possible account number.
            if names == nil, Self.mayStartAccount(bytes, index) { return nil }
            if let match = serviceToken(at: index) { return match }
            guard let name = name(around: index) ?? foreignName(around: index) else { return nil }
            if let rule = name.rule { return value(of: name, rule) }
            if name.isKeyword { return keywordValue(name) }
            return nil
        default: return nil
        }
    }

    // MARK: Bytes

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
    }

    /// Returns `true` if a letter or digit is at an index.
    func isWordByte(_ index: Int) -> Bool {
        ByteClass.isLetter(bytes[index]) || ByteClass.isDigit(bytes[index])
    }

    /// Returns `true` if there is no letter, digit or underscore directly before or after a range.
    func isAlone(from first: Int, to last: Int) -> Bool {
        (first == start || !ByteClass.inWord(bytes[first - 1])) && (last == end || !ByteClass.inWord(bytes[last]))
    }

    /// Returns `true` if `text` starts at an index.
    func has(_ text: String, at index: Int) -> Bool {
        guard index >= start, index + text.utf8.count <= end else { return false }
        var position = index
        for byte in text.utf8 {
            guard bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }
}

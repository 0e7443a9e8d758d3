import IssueWire

/// Values that follow the name of a secret, as in `password=…`, `"api_key": "…"`, `--token …` and `Cookie: …`.
extension SecretReader {
    /// The name of a secret, or a keyword, in a text.
    struct Name {
        var start: Int
        var end: Int
        /// The rule for values of this name; nil if it does not name a secret, or if the rule is not used.
        var rule: RedactionRule?
        /// Whether only values that look like secrets are removed.
        var isVague = false
        /// Whether a token may follow: the name is "bearer" or contains "logz", and the rule for the token is used.
        var isKeyword = false
    }

    /// How a value follows its name.
    enum Link: Equatable {
        case equals
        case colon
        /// The end of an XML tag.
        case element
        /// A single space or tab after an option of a command line, as in `--token VALUE`.
        case option
        /// A single space or tab after any other name.
        case space
    }

    /// Returns the name around an index; nil if no rule applies to it, if the characters around the index were already
    /// examined for another candidate, or if their run ends more than `SensitiveNames.maxBytes` after the index.
    mutating func name(around index: Int) -> Name? {
        guard index >= nameRunEnd else { return nil }
        var first = index
        let limit = max(lowest, index - SensitiveNames.maxBytes)
        while first > limit, inName(bytes[first - 1]) { first -= 1 }
        while first < index, !ByteClass.inWord(bytes[first]) { first += 1 }
        nameRunEnd = index + 1
        while nameRunEnd < end, inName(bytes[nameRunEnd]) { nameRunEnd += 1 }
        // In a run that continues for more than `maxBytes`, only candidates in its last `maxBytes` are examined.
        guard nameRunEnd - index <= SensitiveNames.maxBytes else {
            nameRunEnd -= SensitiveNames.maxBytes
            return nil
        }
        var last = nameRunEnd
        while last > index + 1, !ByteClass.inWord(bytes[last - 1]) { last -= 1 }
        if let name = name(from: first, to: last) { return name }
        // A name of two words, such as "API key".
        guard last - first <= 4, first > limit + 1, bytes[first - 1] == UInt8(ascii: " ") else { return nil }
        let second = first
        first -= 1
        while first > limit, ByteClass.isLetter(bytes[first - 1]) { first -= 1 }
        return first < second - 1 ? name(from: first, to: last) : nil
    }

    /// Returns the name in a range; nil if no rule applies to it.
    func name(from first: Int, to last: Int) -> Name? {
        var name = Name(start: first, end: last)
        switch names?.isSecret(bytes, from: first, to: last) {
        case true?: name.rule = .secret
        case false?: return nil
        case nil:
            switch SensitiveNames.builtIn.meaning(of: bytes, from: first, to: last) {
            case .secret(let rule)?: name.rule = rule
            case .perhaps(let rule)?: (name.rule, name.isVague) = (rule, true)
            case .ignored?, nil: break
            }
        }
        if name.rule == nil, (first..<last).contains(where: { bytes[$0] >= 0x80 || bytes[$0] == UInt8(ascii: " ") }),
            Self.foreignNames.contains(where: { $0.isEnd(of: bytes, from: first, to: last) })
        {
            name.rule = .password
        }
        if let rule = name.rule, !rules.contains(rule) { name.rule = nil }
        guard name.rule == nil else { return name }
        name.isKeyword = isBearer(name) && rules.contains(.bearer) || rules.contains(.logziotoken) && isLogz(name)
        return name.isKeyword ? name : nil
    }

    private func inName(_ byte: UInt8) -> Bool {
        ByteClass.inWord(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    /// A foreign word for "password" that contains spaces or characters that are not ASCII.
    private struct ForeignName {
        let text: [UInt8]
        /// The offset of the candidate byte at which the name is found.
        let offset: Int

        init(_ text: String, foundAt offset: Int) {
            self.text = Array(text.utf8)
            self.offset = offset
        }

        /// Returns `true` if the bytes in a range end with the name.
        func isEnd(of bytes: Span<UInt8>, from first: Int, to last: Int) -> Bool {
            let start = last - text.count
            guard start >= first else { return false }
            for index in text.indices where bytes[start + index] != text[index] { return false }
            return true
        }
    }

    private static let foreignNames = [
        ForeignName("mot de passe", foundAt: 7), ForeignName("Mot de passe", foundAt: 7),
        ForeignName("contraseña", foundAt: 6), ForeignName("Contraseña", foundAt: 6),
        ForeignName("lösenord", foundAt: 3), ForeignName("Lösenord", foundAt: 3),
        ForeignName("пароль", foundAt: 6), ForeignName("Пароль", foundAt: 6),
        ForeignName("密码", foundAt: 0), ForeignName("密碼", foundAt: 0),
    ]

    /// Returns the foreign word for "password" whose candidate byte is at an index; nil if there is none, or if the
    /// rule for passwords is not used.
    func foreignName(around index: Int) -> Name? {
        guard rules.contains(.password) else { return nil }
        for name in Self.foreignNames {
            let first = index - name.offset
            let last = first + name.text.count
            guard first >= lowest, last <= end, name.isEnd(of: bytes, from: first, to: last),
                last == end || !ByteClass.inWord(bytes[last])
            else { continue }
            return Name(start: first, end: last, rule: .password)
        }
        return nil
    }

    private func isBearer(_ name: Name) -> Bool {
        name.end - name.start == 6 && word(from: name.start, to: name.end) == Self.bearer
    }

    private func isLogz(_ name: Name) -> Bool {
        guard name.end - name.start >= 4 else { return false }
        return (name.start...(name.end - 4)).contains { index in
            bytes[index] | 0x20 == UInt8(ascii: "l") && bytes[index + 1] | 0x20 == UInt8(ascii: "o")
                && bytes[index + 2] | 0x20 == UInt8(ascii: "g") && bytes[index + 3] | 0x20 == UInt8(ascii: "z")
        }
    }

    // MARK: Configured names

    /// Returns `true` if a configured name of a secret ends before a separator.
    func hasConfiguredName(before separator: Int) -> Bool { configuredName(before: separator) != nil }

    /// Returns the value whose configured name ends before a separator, or the mark in its place; nil if there is
    /// neither.
    func configuredValue(before separator: Int) -> RedactionMatch? {
        guard let name = configuredName(before: separator), let rule = name.rule else { return nil }
        return value(of: name, rule)
    }

    private func configuredName(before separator: Int) -> Name? {
        guard let names, names.hasSecretNames else { return nil }
        var last = separator
        while last > lowest, separator - last < 3, Self.isBlank(bytes[last - 1]) || Self.isQuote(bytes[last - 1]) {
            last -= 1
        }
        while last > lowest, bytes[last - 1] == UInt8(ascii: "\\") { last -= 1 }
        var first = last
        let limit = max(lowest, last - SensitiveNames.maxBytes)
        while first > limit, inName(bytes[first - 1]) { first -= 1 }
        while first < last, !ByteClass.inWord(bytes[first]) { first += 1 }
        guard first < last, names.isSecret(bytes, from: first, to: last) == true, rules.contains(.secret) else {
            return nil
        }
        return Name(start: first, end: last, rule: .secret)
    }

    // MARK: Values

    /// Returns the token after "bearer" or after a name with "logz"; nil if there is none.
    mutating func keywordValue(_ name: Name) -> RedactionMatch? {
        guard isBearer(name) else { return logzToken(after: name.end) }
        var first = name.end
        while first < end, first < name.end + 3, Self.isBlank(bytes[first]) { first += 1 }
        if has("%20", at: name.end) { first = name.end + 3 }
        guard first > name.end else { return nil }
        var last = first
        while last < end, isTokenByte(bytes[last]) { last += 1 }
        while last > first, bytes[last - 1] == UInt8(ascii: ".") { last -= 1 }
        guard last - first >= 8, looksSecret(from: first, to: last) else { return nil }
        return RedactionMatch(rule: .bearer, start: first, end: last)
    }

    private func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: ByteClass.isLetter(byte) || ByteClass.isDigit(byte)
        }
    }

    /// Returns the value of a name, or the mark in its place; nil if no value follows, or if the rule does not
    /// apply to the value.
    func value(of name: Name, _ rule: RedactionRule) -> RedactionMatch? {
        guard let (link, first) = link(after: name), first < end else { return nil }
        if let mark = mark(startingAt: first) { return mark }
        if rule == .authorization, link != .space, let match = credentials(from: first) {
            if !name.isVague || match.isMark || looksSecret(from: match.start, to: match.end) { return match }
        }
        // The value of a cookie header extends to the end of the line or to a quotation mark, unless it begins with a
        // word such as "missing".
        let isHeader =
            rule == .cookie && link == .colon && !name.isVague
            && !isPlaceholder(from: first, to: valueEnd(from: first), link, isQuoted: false)
        var (from, to) = (first, first)
        let isQuoted = Self.isQuote(bytes[first])
        if isQuoted {
            from += 1
            to = quotationEnd(from: from, mark: bytes[first])
        } else {
            to = isHeader ? lineEnd(from: from) : valueEnd(from: from)
        }
        guard to > from else { return nil }
        if let mark = mark(startingAt: from) { return mark }
        guard isSecret(from: from, to: to, link, isQuoted: isQuoted, name, rule) else { return nil }
        return RedactionMatch(rule: rule, start: from, end: to)
    }

    /// Returns how a value follows a name, and the start of the value; nil if no value follows.
    private func link(after name: Name) -> (Link, Int)? {
        var index = name.end
        // A quoted name, in JSON that may be quoted itself.
        while index < end, index < name.end + 4, bytes[index] == UInt8(ascii: "\\") { index += 1 }
        if index < end, Self.isQuote(bytes[index]) { index += 1 }
        let isQuoted = index > name.end
        // An element of a list.
        if index < end, bytes[index] == UInt8(ascii: "[") {
            index += 1
            while index < end, index < name.end + 4, ByteClass.isDigit(bytes[index]) { index += 1 }
            guard index < end, bytes[index] == UInt8(ascii: "]") else { return nil }
            index += 1
        }
        let blanks = blanksEnd(from: index)
        guard blanks < end else { return nil }
        switch bytes[blanks] {
        case UInt8(ascii: "="), UInt8(ascii: ":"):
            var next = blanks + 1
            var link = bytes[blanks] == UInt8(ascii: "=") ? Link.equals : .colon
            if next < end, bytes[next] == UInt8(ascii: ">") || bytes[next] == UInt8(ascii: "=") {
                link = .equals
                next += 1
            } else if link == .colon, next < end, bytes[next] == UInt8(ascii: ":") || bytes[next] == UInt8(ascii: "/") {
                // A scope or a URL.
                return nil
            }
            next = blanksEnd(from: next)
            // A quoted value in JSON that is quoted itself.
            let unescaped = next
            while next < end, next < unescaped + 4, bytes[next] == UInt8(ascii: "\\") { next += 1 }
            return (link, next)
        case UInt8(ascii: ">"):
            guard !isQuoted, name.start > start, bytes[name.start - 1] == UInt8(ascii: "<") else { return nil }
            return (.element, blanks + 1)
        case 0xEF where has("：", at: blanks): return (.colon, blanksEnd(from: blanks + 3))
        default:
            guard !isQuoted, blanks == index + 1 else { return nil }
            let isOption = name.start >= start + 2 && has("--", at: name.start - 2)
            return (isOption ? .option : .space, blanks)
        }
    }

    /// Returns `true` if the whole text of this reader is a secret value.
    ///
    /// - Parameters:
    ///   - rule: The rule for the name of the value.
    ///   - isVague: Whether only a value that looks like a secret counts.
    func isSecretValue(rule: RedactionRule, isVague: Bool) -> Bool {
        guard end > start, mark(startingAt: start)?.end != end else { return false }
        if isPlaceholder(from: start, to: end, .equals, isQuoted: true) { return false }
        if isVague { return looksSecret(from: start, to: end) }
        return rule != .authorization || looksSecret(from: start, to: end) || credentials(from: start) != nil
    }

    private func isSecret(
        from first: Int, to last: Int, _ link: Link, isQuoted: Bool, _ name: Name, _ rule: RedactionRule
    ) -> Bool {
        if isPlaceholder(from: first, to: last, link, isQuoted: isQuoted) { return false }
        if link == .option { return bytes[first] != UInt8(ascii: "-") && !name.isVague }
        let count = last - first
        if link == .space {
            guard !name.isVague, rule != .cookie, rule != .authorization else { return false }
            if isQuoted { return rule == .password && count >= 4 || looksSecret(from: first, to: last) }
            let (letters, digits) = composition(from: first, to: last)
            return letters > 0 && digits > 0 && count >= (rule == .password ? 6 : 8)
        }
        if name.isVague || rule == .authorization { return looksSecret(from: first, to: last) }
        if rule == .token { return looksSecret(from: first, to: last) }
        return rule == .password || count >= 4
    }

    /// Returns the credentials, or the mark in their place, after an authorization scheme that starts at an index or
    /// after the quotation mark there; nil if there are none.
    private func credentials(from first: Int) -> RedactionMatch? {
        let from = Self.isQuote(bytes[first]) ? first + 1 : first
        var last = from
        while last < end, last < from + 20, ByteClass.inWord(bytes[last]) || bytes[last] == UInt8(ascii: "-") {
            last += 1
        }
        let next = blanksEnd(from: last)
        guard next > last, next < end, last > from, ByteClass.inWord(bytes[next]) || bytes[next] == UInt8(ascii: "[")
        else { return nil }
        let scheme = word(from: from, to: last)
        guard Self.schemes.contains(scheme) || has("AWS4-HMAC", at: from) else { return nil }
        if let mark = mark(startingAt: next) { return mark }
        let isList = scheme == Self.digest || has("AWS4-HMAC", at: from)
        let to = isList ? lineEnd(from: next) : valueEnd(from: next)
        guard to > next, !isPlaceholder(from: next, to: to, .colon, isQuoted: false) else { return nil }
        return RedactionMatch(rule: .authorization, start: next, end: to)
    }

    private static let schemes = ShortWords.authorizationSchemes
    private static let digest = "digest".utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    private static let bearer = "bearer".utf8.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }

    /// Returns a word as an integer, as in `ShortWords`; 0 if it is longer than eight bytes.
    func word(from first: Int, to last: Int) -> UInt64 {
        guard last - first <= 8 else { return 0 }
        var word: UInt64 = 0
        for index in first..<last { word = word << 8 | UInt64(bytes[index] | 0x20) }
        return word
    }

    /// The maximum length of a placeholder in bytes, unless it consists of asterisks or full stops.
    private static let maxPlaceholderBytes = 128

    /// Returns `true` for a text in place of a secret value: a word such as "missing" or "must", a variable, a format
    /// specifier, words in brackets, or asterisks or full stops.
    func isPlaceholder(from first: Int, to last: Int, _ link: Link, isQuoted: Bool) -> Bool {
        var index = first
        while index < last, bytes[index] == UInt8(ascii: "*") || bytes[index] == UInt8(ascii: ".") { index += 1 }
        if index == last { return true }
        guard last - first <= Self.maxPlaceholderBytes else { return false }
        switch bytes[first] {
        case UInt8(ascii: "$"): return last - first > 1 && !ByteClass.isDigit(bytes[first + 1])
        case UInt8(ascii: "%"): return last - first <= 3
        case UInt8(ascii: "<"), UInt8(ascii: "["), UInt8(ascii: "("), UInt8(ascii: "{"):
            return (first + 1..<last).allSatisfy { index in
                ByteClass.isLetter(bytes[index]) || ByteClass.inWord(bytes[index]) && !ByteClass.isDigit(bytes[index])
                    || bytes[index] == UInt8(ascii: " ") || ByteMask.isClosing(bytes[index])
            }
        default: break
        }
        let word = word(from: first, to: last)
        guard word != 0 else { return false }
        if ShortWords.noValues.contains(word) { return true }
        return !isQuoted && link != .equals && ShortWords.sentenceWords.contains(word)
    }

    /// Returns `true` for a text that looks like a random token rather than a word.
    func looksSecret(from first: Int, to last: Int) -> Bool {
        let count = last - first
        guard count >= 6 else { return false }
        let (letters, digits) = composition(from: first, to: last)
        if digits > 0 { return letters > 0 || count >= 8 }
        if letters == count, count < 20 { return count >= 12 && caseChanges(from: first, to: last) >= count / 3 }
        return count >= 20
    }

    private func composition(from first: Int, to last: Int) -> (letters: Int, digits: Int) {
        var (letters, digits) = (0, 0)
        for index in first..<last {
            if ByteClass.isLetter(bytes[index]) { letters += 1 }
            if ByteClass.isDigit(bytes[index]) { digits += 1 }
        }
        return (letters, digits)
    }

    /// Returns the number of changes between small and capital letters in a range of letters.
    func caseChanges(from first: Int, to last: Int) -> Int {
        var count = 0
        for index in (first + 1)..<max(first + 1, last) where (bytes[index] ^ bytes[index - 1]) & 0x20 != 0 {
            count += 1
        }
        return count
    }

    // MARK: Ends of values

    private func blanksEnd(from first: Int) -> Int {
        var index = first
        while index < end, index < first + 3, Self.isBlank(bytes[index]) { index += 1 }
        return index
    }

    private func lineEnd(from first: Int) -> Int {
        var index = first
        while index < end, bytes[index] >= 0x20 || bytes[index] == UInt8(ascii: "\t"), !Self.isQuote(bytes[index]) {
            index += 1
        }
        return index
    }

    /// Returns the end of a quoted value: before the closing quotation mark, or the end of the line or text if there is
    /// none.
    private func quotationEnd(from first: Int, mark: UInt8) -> Int {
        var index = first
        while index < end, bytes[index] != mark, bytes[index] != 0x0A {
            // An escaped quotation mark belongs to the value, unless the value is in quoted JSON.
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < end {
                if bytes[index + 1] == mark, first >= start + 2, bytes[first - 2] == UInt8(ascii: "\\") { return index }
                index += 1
            }
            index += 1
        }
        return min(index, end)
    }

    /// Returns the end of a value without quotation marks.
    ///
    /// Secrets may contain commas, semicolons, ampersands and closing brackets. Such a character therefore ends the
    /// value only before a space or punctuation, at the end of the text or, except for a bracket, before another name
    /// with a value.
    func valueEnd(from first: Int) -> Int {
        var index = first
        scan: while index < end {
            switch bytes[index] {
            case 0...UInt8(ascii: " "), 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): break scan
            case UInt8(ascii: "<"): if index > first { break scan }
            case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&"): if endsValue(at: index) { break scan }
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ">"):
                if endsText(at: index + 1) { break scan }
            default: break
            }
            index += 1
        }
        while index > first, ByteClass.isSentencePunctuation(bytes[index - 1]) { index -= 1 }
        return index
    }

    /// Returns `true` at the end of the text, and at an ASCII character other than a letter, a digit or an underscore.
    private func endsText(at index: Int) -> Bool {
        guard index < end else { return true }
        let byte = bytes[index]
        return !(ByteClass.inWord(byte) || byte >= 0x80)
    }

    /// Returns `true` if `endsText` is true after a separator, or if another name with a value follows.
    private func endsValue(at separator: Int) -> Bool {
        if endsText(at: separator + 1) { return true }
        var index = separator + 1
        while index < end, index < separator + 32, inName(bytes[index]) { index += 1 }
        return index < end && (bytes[index] == UInt8(ascii: "=") || bytes[index] == UInt8(ascii: ":"))
    }
}

extension ByteMask {
    /// Returns `true` for a closing bracket.
    fileprivate static func isClosing(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ">"): true
        default: false
        }
    }
}

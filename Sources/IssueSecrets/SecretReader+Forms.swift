import IssueWire

/// Secrets that are recognised by their form.
extension SecretReader {
    // MARK: Marks

    /// Returns the mark of an already removed value if the at sign of the mark is at an index; otherwise nil.
    func mark(around sign: Int) -> RedactionMatch? {
        guard sign > start, sign - 1 >= lowest, bytes[sign - 1] == UInt8(ascii: "[") else { return nil }
        return mark(startingAt: sign - 1)
    }

    /// Returns the mark that starts at an index, such as `[@email]` or `[@email:0123456789abcdef]`; nil if there is
    /// none.
    func mark(startingAt first: Int) -> RedactionMatch? {
        guard first + 2 < end, bytes[first] == UInt8(ascii: "["), bytes[first + 1] == UInt8(ascii: "@") else {
            return nil
        }
        var index = first + 2
        while index < end, index < first + 2 + Self.maxRuleBytes, ByteClass.isLetter(bytes[index]) { index += 1 }
        guard index < end, bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: "]"),
            let rule = RedactionRule.allCases.first(where: {
                $0.rawValue.utf8.count == index - first - 2 && has($0.rawValue, at: first + 2)
            })
        else { return nil }
        if index < end, bytes[index] == UInt8(ascii: ":") {
            let digits = index + 1
            index = digits
            while index < end, index < digits + RedactionMark.hashDigits, ByteClass.isHexadecimal(bytes[index]) {
                index += 1
            }
            guard index == digits + RedactionMark.hashDigits else { return nil }
        }
        guard index < end, bytes[index] == UInt8(ascii: "]") else { return nil }
        return RedactionMatch(rule: rule, start: first, end: index + 1, isMark: true)
    }

    /// The length of the longest name of a rule, in bytes.
    private static let maxRuleBytes = RedactionRule.allCases.map(\.rawValue.utf8.count).max() ?? 0

    // MARK: Addresses

    /// Returns the user and password of a URL whose at sign is at an index (RFC 3986, section 3.2.1), or the mark in
    /// their place; nil if there is neither, or if the rule is not used.
    func urlUser(before sign: Int) -> RedactionMatch? {
        guard rules.contains(.urlauth) else { return nil }
        var first = sign
        let limit = max(lowest, signEnd)
        var hasPassword = false
        while first > limit, bytes[first - 1] != UInt8(ascii: "/") {
            guard isAuthorityByte(bytes[first - 1]) else { return nil }
            if bytes[first - 1] == UInt8(ascii: ":") { hasPassword = true }
            first -= 1
        }
        guard first < sign, first >= start + 2, has("//", at: first - 2) else { return nil }
        let isURL = first >= start + 3 && bytes[first - 3] == UInt8(ascii: ":")
        guard isURL || first == start + 2 || bytes[first - 3] == UInt8(ascii: " ") else { return nil }
        // In http and https URLs, a user without a password may be a token.
        guard hasPassword || has("http://", at: first - 7) || has("https://", at: first - 8) else { return nil }
        var last = sign
        var index = sign + 1
        // A password may contain at signs that are not escaped, so the last one ends it.
        while index < end, isAuthorityByte(bytes[index]), bytes[index] != UInt8(ascii: "/"),
            bytes[index] != UInt8(ascii: "?"), bytes[index] != UInt8(ascii: "#")
        {
            if bytes[index] == UInt8(ascii: "@") { last = index }
            index += 1
        }
        return mark(startingAt: first) ?? RedactionMatch(rule: .urlauth, start: first, end: last)
    }

    private func isAuthorityByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...UInt8(ascii: " "), 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "`"):
            false
        default: true
        }
    }

    /// Returns the e-mail address around an at sign.
    func mailbox(around sign: Int) -> RedactionMatch? {
        guard rules.contains(.email) else { return nil }
        var first = sign
        while first > max(lowest, signEnd), isLocalByte(bytes[first - 1]) { first -= 1 }
        while first < sign, !isWordByte(first) { first += 1 }
        guard first < sign else { return nil }
        var last = sign + 1
        var lastDot: Int?
        while last < end {
            let byte = bytes[last]
            if byte == UInt8(ascii: ".") {
                guard last > sign + 1, last + 1 < end, isWordByte(last + 1) else { break }
                lastDot = last
            } else if !ByteClass.isLetter(byte), !ByteClass.isDigit(byte), byte != UInt8(ascii: "-") {
                break
            }
            last += 1
        }
        guard let lastDot, last - lastDot > 2 else { return nil }
        for index in (lastDot + 1)..<last where !ByteClass.isLetter(bytes[index]) { return nil }
        let isRepository = last < end && bytes[last] == UInt8(ascii: ":") && first + 3 == sign && has("git", at: first)
        guard !isRepository, !isUnitOrFile(from: lastDot + 1, to: last) else { return nil }
        return RedactionMatch(rule: .email, start: first, end: last)
    }

    private func isLocalByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "%") || ByteClass.inMailbox(byte)
    }

    /// Returns `true` for the suffixes of systemd unit instances (`getty@tty1.service`) and of images for high-density
    /// screens (`icon@2x.png`).
    private func isUnitOrFile(from first: Int, to last: Int) -> Bool {
        ShortWords.unitEndings.contains(word(from: first, to: last))
    }

    /// Returns the IPv4 address whose first full stop is at an index. Returns nil for loopback addresses and `0.0.0.0`,
    /// because they identify no one.
    func ipv4(around dot: Int) -> RedactionMatch? {
        var first = dot
        while first > lowest, dot - first < 3, ByteClass.isDigit(bytes[first - 1]) { first -= 1 }
        guard first < dot, first == start || !isInside(bytes[first - 1]),
            let last = bytes.dottedNumbersEnd(from: first, to: end, maximum: 255)
        else { return nil }
        if last < end, isWordByte(last) || bytes[last] == UInt8(ascii: "_") { return nil }
        if last + 1 < end, bytes[last] == UInt8(ascii: "."), isWordByte(last + 1) { return nil }
        guard !has("127.", at: first), !(last - first == 7 && has("0.0.0.0", at: first)) else { return nil }
        return RedactionMatch(rule: .ip, start: first, end: last)
    }

    private func isInside(_ byte: UInt8) -> Bool {
        ByteClass.inWord(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
    }

    /// Returns the IPv6 address whose first colon is at an index (RFC 4291, section 2.2).
    func ipv6(around colon: Int) -> RedactionMatch? {
        var first = colon
        while first > lowest, colon - first < 5, ByteClass.isHexadecimal(bytes[first - 1]) { first -= 1 }
        guard colon - first <= 4, first == start || !isInside(bytes[first - 1]) else { return nil }
        guard let groups = ColonGroups(bytes, from: first, to: end, maximum: 255), groups.isIPv6,
            groups.end == end || !isWordByte(groups.end)
        else { return nil }
        // The loopback address.
        guard !(groups.end - first == 3 && has("::1", at: first)) else { return nil }
        return RedactionMatch(rule: .ip, start: first, end: groups.end)
    }

    // MARK: Tokens and keys

    /// Returns the JSON Web Token whose second letter is at an index (RFC 7519): a part that begins like a JSON object
    /// in base64url, at least one other part, and a signature, which may be empty.
    func jsonToken(at index: Int) -> RedactionMatch? {
        let first = index - 1
        guard rules.contains(.jwt), first >= lowest, first >= start, bytes[first] == UInt8(ascii: "e"),
            first == start || !isBase64(bytes[first - 1]) && bytes[first - 1] != UInt8(ascii: ".")
        else { return nil }
        var parts = 0
        var position = first
        while parts < 5 {
            let part = position
            while position < end, isBase64(bytes[position]) { position += 1 }
            if parts < 2, position - part < (parts == 0 ? 10 : 2) { return nil }
            parts += 1
            guard position < end, bytes[position] == UInt8(ascii: ".") else { break }
            if parts >= 2, position + 1 == end || !isBase64(bytes[position + 1]) {
                // Either an empty signature or the end of a sentence.
                parts += 1
                break
            }
            position += 1
        }
        guard parts >= 3 else { return nil }
        return RedactionMatch(rule: .jwt, start: first, end: position)
    }

    private func isBase64(_ byte: UInt8) -> Bool {
        ByteClass.inWord(byte) || byte == UInt8(ascii: "-")
    }

    /// Returns the access key of AWS whose third letter is at an index: `AKIA` or `ASIA` and 16 characters
    /// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html).
    func accessKey(at index: Int) -> RedactionMatch? {
        let first = index - 2
        guard rules.contains(.awskey), first >= lowest, has("AKIA", at: first) || has("ASIA", at: first),
            first + 20 <= end, isAlone(from: first, to: first + 20)
        else { return nil }
        for index in (first + 4)..<(first + 20) {
            guard ByteClass.isDigit(bytes[index]) || ByteClass.isCapital(bytes[index]) else { return nil }
        }
        return RedactionMatch(rule: .awskey, start: first, end: first + 20)
    }

    /// Returns the access token of a service whose prefix is at or around an index: of GitHub (`ghp_` and similar,
    /// `github_pat_`), GitLab (`glpat-`) or Slack (`xoxb-` and similar).
    ///
    /// GitHub's tokens have at least 36 characters after the prefix
    /// (https://github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available/),
    /// GitLab's at least 20.
    mutating func serviceToken(at index: Int) -> RedactionMatch? {
        guard rules.contains(.servicetoken) else { return nil }
        let first: Int, body: Int, minCount: Int
        var hasHyphens = true
        var isGitLab = false
        switch bytes[index] {
        case UInt8(ascii: "g"):
            guard index + 4 <= end, Self.hubKinds.contains(bytes[index + 2]), has("_", at: index + 3) else {
                return nil
            }
            (first, body, minCount, hasHyphens) = (index, index + 4, 36, false)
        case UInt8(ascii: "p") where has("github_pat_", at: index - 7):
            (first, body, minCount, hasHyphens) = (index - 7, index + 4, 36, false)
        case UInt8(ascii: "p") where has("glpat-", at: index - 2):
            (first, body, minCount, isGitLab) = (index - 2, index + 4, 20, true)
        case UInt8(ascii: "x") where has("xox", at: index):
            guard index + 5 <= end, ByteClass.isLetter(bytes[index + 3]), has("-", at: index + 4) else { return nil }
            (first, body, minCount) = (index, index + 5, 10)
        default: return nil
        }
        guard first >= lowest, body >= digitlessEnd, first == start || !ByteClass.inWord(bytes[first - 1]) else {
            return nil
        }
        var last = body
        var digits = 0
        var letters = 0
        var capitals = 0
        while last < end, ByteClass.inWord(bytes[last]) || hasHyphens && bytes[last] == UInt8(ascii: "-") {
            if ByteClass.isDigit(bytes[last]) { digits += 1 }
            if ByteClass.isLetter(bytes[last]) { letters += 1 }
            if ByteClass.isLetter(bytes[last]), bytes[last] < UInt8(ascii: "a") { capitals += 1 }
            last += 1
        }
        if digits == 0 { digitlessEnd = last }
        guard last - body >= minCount else { return nil }
        // A short token, such as one of GitLab, may have no digit by chance. Other texts without digits are usually
        // words in a single case, joined by hyphens or underscores.
        let isMixed = capitals > 0 && capitals < letters
        guard digits > 0 || isGitLab && (isMixed || letters == last - body) else { return nil }
        return RedactionMatch(rule: .servicetoken, start: first, end: last)
    }

    /// The third letters of GitHub's prefixes: personal, OAuth, user, server and refresh.
    private static let hubKinds = Array("pousr".utf8)

    /// Returns the shipping token that starts within 96 bytes after the name of Logz.io: 32 letters in which the case
    /// changes at least ten times.
    mutating func logzToken(after index: Int) -> RedactionMatch? {
        let limit = min(end, index + 96)
        var first = max(index, logzEnd)
        defer { logzEnd = max(logzEnd, first) }
        while first < limit {
            var last = first
            while last < end, last - first <= 32, ByteClass.isLetter(bytes[last]) { last += 1 }
            if last - first == 32, isAlone(from: first, to: last), caseChanges(from: first, to: last) >= 10 {
                return RedactionMatch(rule: .logziotoken, start: first, end: last)
            }
            first = max(last, first + 1)
        }
        return nil
    }

    /// Returns `true` if the first line of a PEM block is at an index, and the rule for private keys is used.
    func isKeyStart(at index: Int) -> Bool {
        rules.contains(.pemkey) && index >= lowest && has("-----BEGIN ", at: index)
    }

    /// Returns the content of a private key in PEM (RFC 7468) whose first line is at an index, or the mark in its
    /// place; nil if there is neither, or if the rule is not used. If the last line is missing, the content extends to
    /// the end of the text.
    func privateKey(at index: Int) -> RedactionMatch? {
        guard isKeyStart(at: index) else { return nil }
        var position = index + 11
        var isPrivate = false
        while position < end, position < index + 64, bytes[position] != UInt8(ascii: "-") {
            if has("PRIVATE KEY", at: position) { isPrivate = true }
            position += 1
        }
        guard isPrivate, has("-----", at: position) else { return nil }
        let first = blockStart(after: position + 5)
        if let mark = mark(startingAt: first) { return mark }
        var last = first
        while last < end, !(bytes[last] == UInt8(ascii: "-") && has("-----END", at: last)) { last += 1 }
        while last > first, bytes[last - 1] <= UInt8(ascii: " ") { last -= 1 }
        guard last > first else { return nil }
        return RedactionMatch(rule: .pemkey, start: first, end: last)
    }

    private func blockStart(after index: Int) -> Int {
        var first = index
        while first < end, bytes[first] <= UInt8(ascii: " ") { first += 1 }
        return first
    }
}

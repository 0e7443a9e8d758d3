import IssueProtocol
internal import IssueSecrets

/// Splits a message into tokens for its template.
///
/// The tokens depend only on the message, so a template is the same on every host. The work is linear in the size of
/// the message.
struct TemplateReader: ~Escapable {
    /// A part of a message that a template does not contain verbatim.
    enum Token {
        /// A control character, which a template cannot contain.
        case control(at: Int)
        case part(MessageTemplate.Placeholder, from: Int, to: Int)
    }

    let bytes: Span<UInt8>
    var position: Int
    let start: Int
    let end: Int
    /// The end of the last token, or of a later word that stays in the template. No token extends back across it.
    var lowest: Int
    /// The start and the at sign of the next mailbox address; both are `end` if there is none.
    private var mailbox: (start: Int, sign: Int)
    /// The end of the last dotted name that was examined.
    var nameEnd: Int

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, start: Int, end: Int) {
        self.bytes = bytes
        self.position = start
        self.start = start
        self.end = end
        lowest = start
        nameEnd = start
        mailbox = (end, end)
        mailbox = mailbox(from: start)
    }

    /// Returns the next token, or nil if the rest of the message is plain text.
    mutating func next() -> Token? {
        lowest = position
        // The last token may have included the start of the mailbox address.
        if mailbox.start < position { mailbox = mailbox(from: position) }
        while true {
            // Scan beyond the end of the message as far as there are bytes, instead of scanning the last bytes one by
            // one.
            position = bytes.scan(from: position, to: bytes.count) { ByteClass.marks(in: $0) }
            if position >= mailbox.start, mailbox.start < end { return takeMailbox() }
            guard position < end else { return nil }
            let byte = bytes[position]
            switch ByteClass.of(byte) {
            case .digit: if let token = takeValue() { return token }
            case .dot: if let token = takeName() { return token }
            case .colon: if let token = takeColon() { return token }
            case .equals: if let token = takeAssigned() { return token }
            case .quote: if let token = takeQuoted(byte) { return token }
            case .slash: if let token = takePath() { return token }
            case .backslash: if let token = takeWindowsPath() { return token }
            case .control:
                position &+= 1
                if byte != 0x0A, byte != 0x09, byte != 0x0D { return .control(at: position - 1) }
            case .letter: position &+= 1
            case .other: repeat { position &+= 1 } while position < end && bytes[position] >= 0x80
            }
        }
    }

    private mutating func takeMailbox() -> Token {
        let token = takeAddress(from: mailbox.start, continuing: mailbox.sign + 1)
        mailbox = mailbox(from: position)
        return token
    }

    /// Returns a quotation with its quotation marks; nil if the mark does not begin one.
    ///
    /// A mark after a letter or digit, or without a closing mark, may be an apostrophe and begins none. The request in
    /// an access log does not count as a quotation, so that its method is kept. Nor does the value of a text key
    /// (`isText`) or empty text.
    private mutating func takeQuoted(_ mark: UInt8) -> Token? {
        let first = position
        position += 1
        guard first == start || !isWordByte(first - 1), !isRequest(at: position), !isText(at: first) else { return nil }
        var index = position
        while index < end, bytes[index] != mark, bytes[index] >= 0x20 { index += 1 }
        guard index < end, bytes[index] == mark, index > position, index + 1 == end || !isWordByte(index + 1) else {
            return nil
        }
        position = index + 1
        return .part(.quoted, from: first, to: position)
    }

    /// Returns `true` if an HTTP method and the path or URL of a request start here.
    private func isRequest(at first: Int) -> Bool {
        var index = first
        while index < end, index < first + 8, ByteClass.isCapital(bytes[index]) { index += 1 }
        return index > first + 2 && index + 1 < end && bytes[index] == UInt8(ascii: " ")
            && (bytes[index + 1] == UInt8(ascii: "/") || bytes[index + 1] == UInt8(ascii: "h"))
    }

    /// Returns `true` if the quotation that starts here is the value of a text key (`isTextKey`), as in
    /// `"msg": "no such file"` and `msg="no such file"`.
    private func isText(at mark: Int) -> Bool {
        // The index after the equals sign or colon that precedes the quotation.
        var last = mark
        if last > start, bytes[last - 1] == UInt8(ascii: " ") { last -= 1 }
        guard last > start + 1 else { return false }
        if bytes[last - 1] == UInt8(ascii: "=") { return isTextKey(before: last - 1) }
        guard bytes[last - 1] == UInt8(ascii: ":"), ByteClass.of(bytes[last - 2]) == .quote else { return false }
        return isTextKey(before: last - 2)
    }

    // MARK: key=value

    /// Returns the value directly after an equals sign, unless its key is a text key (`isTextKey`). If spaces follow
    /// the equals sign, returns the truth value after them. Otherwise returns nil.
    private mutating func takeAssigned() -> Token? {
        let sign = position
        position += 1
        guard sign > start, position < end else { return nil }
        if bytes[position] == UInt8(ascii: " ") { return takeTruthValue(after: position) }
        let first = position
        guard ByteClass.mayEndKey(bytes[sign - 1]), !isTextKey(before: sign) else { return nil }
        if ByteClass.of(bytes[first]) == .quote, case .part(_, _, let last)? = takeQuoted(bytes[first]) {
            return .part(.number, from: first, to: last)
        }
        let last = assignedEnd(from: first)
        guard last > first else { return nil }
        position = last
        return .part(.number, from: first, to: last)
    }

    /// Returns the end of the value that starts at an index. Brackets in it may contain spaces, as in `Point(1, 2)`.
    private func assignedEnd(from first: Int) -> Int {
        /// The first separator within brackets: the end of the value if a bracket is not closed.
        var firstStop = first
        var depth = 0
        var index = first
        scan: while index < end {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { break scan }
                depth -= 1
            case UInt8(ascii: " "), UInt8(ascii: ";"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "="),
                UInt8(ascii: ">"), UInt8(ascii: ","):
                if byte == UInt8(ascii: ","), index + 1 < end, ByteClass.isDigit(bytes[index + 1]) { break }
                if byte == UInt8(ascii: "="), index > first { break }
                if depth == 0 { break scan }
                if firstStop == first { firstStop = index }
                // If a bracket is not closed within about 128 bytes, the value ends at `firstStop`.
                if index - first > 128 { break scan }
            case 0..<0x20, 0x7F: break scan
            default: break
            }
            index += 1
        }
        if depth > 0, firstStop > first { index = firstStop }
        // Punctuation at the end belongs to the sentence.
        while index > first, ByteClass.isSentencePunctuation(bytes[index - 1]) { index -= 1 }
        return index
    }

    /// Returns `true` if the values of the key that ends here are sentences, levels or kinds of events, not data.
    private func isTextKey(before sign: Int) -> Bool {
        var key: UInt64 = 0
        var index = sign
        while index > start, ByteClass.isLetter(bytes[index - 1]) {
            if sign - index == 8 { return false }
            key |= UInt64(bytes[index - 1] | 0x20) << UInt64(8 * (sign - index))
            index -= 1
        }
        return ShortWords.textKeys.contains(key)
    }

    /// Returns the truth value, or a word such as `nil`, after an index and up to two spaces; nil if there is none.
    mutating func takeTruthValue(after index: Int) -> Token? {
        var first = index
        while first < end, first < index + 2, bytes[first] == UInt8(ascii: " ") { first += 1 }
        guard first < end, ByteClass.mayBeginTruthValue(bytes[first]),
            let last = shortWordEnd(from: first, in: ShortWords.truthValues)
        else { return nil }
        position = last
        return .part(.number, from: first, to: last)
    }

    /// Returns the end of the word of letters that starts at an index if the word is in a list, ignoring case;
    /// otherwise nil.
    func shortWordEnd(from first: Int, in words: ShortWords) -> Int? {
        var word: UInt64 = 0
        var last = first
        while last < end, ByteClass.isLetter(bytes[last]) {
            if last - first == 8 { return nil }
            word = word << 8 | UInt64(bytes[last] | 0x20)
            last += 1
        }
        guard last > first, last == end || !ByteClass.inWord(bytes[last]), words.contains(word) else { return nil }
        return last
    }

    // MARK: Paths

    /// Returns the path that the slash begins or is in; nil if there is none. If an IPv4 address follows the slash, as
    /// in `db/10.0.0.1`, returns that address instead, with the slash, any name before the slash, and the IPv4
    /// addresses that follow.
    private mutating func takePath() -> Token? {
        let slash = position
        position += 1
        var first = slash
        while first > lowest, slash - first < 2, bytes[first - 1] == UInt8(ascii: ".") { first -= 1 }
        let isStart = first == start || ByteClass.mayPrecedePath(bytes[first - 1])
        guard position < end, isWordByte(position) || ByteClass.mayBeginPath(bytes[position]) else {
            return isRequest(ofRoot: slash) ? .part(.path, from: slash, to: slash + 1) : nil
        }
        if !isStart {
            guard slash > lowest, ByteClass.inWord(bytes[slash - 1]) else { return nil }
            first = wordStart(before: slash)
        }
        if ByteClass.isDigit(bytes[position]), let last = ipv4AddressEnd(from: position) {
            return takeAddressList(from: first, to: last)
        }
        return isStart || isRelativePath(after: slash) ? takePath(from: first) : nil
    }

    /// Returns `true` if the slash is the path of a request, as in `GET / HTTP/1.1`.
    private func isRequest(ofRoot slash: Int) -> Bool {
        slash > start + 1 && bytes[slash - 1] == UInt8(ascii: " ")
            && ByteClass.isCapital(bytes[slash - 2])
            && (slash + 1 == end || bytes[slash + 1] == UInt8(ascii: " ") || bytes[slash + 1] == UInt8(ascii: "\""))
    }

    /// Returns `true` if another slash, or a file name with an extension, follows a slash.
    private func isRelativePath(after slash: Int) -> Bool {
        var index = slash + 1
        while index < end, ByteClass.inPath(bytes[index]) {
            switch bytes[index] {
            case UInt8(ascii: "/"): return true
            case UInt8(ascii: "."): if index + 1 < end, ByteClass.isLetter(bytes[index + 1]) { return true }
            default: break
            }
            index += 1
        }
        return false
    }

    mutating func takePath(from first: Int) -> Token {
        while position < end, ByteClass.inPath(bytes[position]) { position += 1 }
        // Punctuation at the end belongs to the sentence.
        while position > first + 1, ByteClass.isSentencePunctuation(bytes[position - 1]) { position -= 1 }
        return .part(.path, from: first, to: position)
    }

    /// Returns a path with backslashes: a share, a registry key, or a user with their domain. Returns nil if there is
    /// none.
    private mutating func takeWindowsPath() -> Token? {
        let first = wordStart(before: position)
        position += 1
        guard position < end else { return nil }
        let isShare = first == position - 1 && bytes[position] == UInt8(ascii: "\\")
        guard isShare || first < position - 1 && ByteClass.isLetter(bytes[position]) else { return nil }
        return takePath(from: first)
    }

    // MARK: Bytes

    /// Returns the start of the word that ends before an index. The word may contain underscores and hyphens.
    func wordStart(before index: Int) -> Int {
        var first = index
        while first > lowest, ByteClass.inWord(bytes[first &- 1]) || bytes[first &- 1] == UInt8(ascii: "-") {
            first &-= 1
        }
        return first
    }

    /// Returns the start of the letters that end before `position`.
    func lettersStart() -> Int {
        var index = position
        while index > lowest, ByteClass.isLetter(bytes[index &- 1]) { index &-= 1 }
        return index
    }

    /// Returns the end of the digits that start at an index.
    func digitsEnd(from first: Int) -> Int {
        var index = first
        while index < end, ByteClass.isDigit(bytes[index]) { index &+= 1 }
        return index
    }

    /// Returns `true` if a letter or digit is at an index.
    func isWordByte(_ index: Int) -> Bool {
        ByteClass.isLetter(bytes[index]) || ByteClass.isDigit(bytes[index])
    }
}

/// The words that have a meaning for a template. September and Wednesday are missing, because a word has at most eight
/// letters.
extension ShortWords {
    /// The keys, as in `key=value` and `"key": "value"`, whose values are sentences, levels or kinds of events.
    static let textKeys = ShortWords([
        "msg", "message", "err", "error", "event", "reason", "cause", "level", "lvl", "severity", "type", "op",
        "action", "method",
    ])
    static let truthValues = ShortWords(["true", "false", "null", "none", "nil"])
    /// Units, `am` and `pm`, which may follow a number and a space. They vary with the number: programs choose a unit
    /// by the size of the number.
    static let units = ShortWords([
        "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "sec", "secs", "second", "seconds", "min", "mins",
        "minute", "minutes", "hour", "hours", "day", "days", "am", "pm",
    ])
    /// Technical terms that contain digits and are kept.
    static let terms = ShortWords([
        "utf8", "utf16", "ipv4", "ipv6", "x86", "x86_64", "amd64", "arm64", "aarch64", "i386", "i686", "sha1",
        "sha256", "sha512", "md5", "base64", "http2", "http3", "oauth2", "s3", "ec2", "k8s", "log4j", "p2p", "i2c",
        "utf-8", "utf-16", "sha-1", "sha-256", "sha-512", "h2",
    ])
    /// Last labels that identify a name with a single dot as the name of a host or of a systemd unit.
    static let domains = ShortWords([
        "com", "net", "org", "edu", "gov", "mil", "local", "lan", "internal", "service", "socket", "timer", "mount",
        "scope", "slice",
    ])
    static let months = ShortWords([
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "january", "february",
        "march", "april", "june", "july", "august", "october", "november", "december",
    ])
    static let weekdays = ShortWords([
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "thursday", "friday", "saturday",
        "sunday",
    ])
}

import IssueProtocol

/// Splits a message into tokens for its template.
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
    /// The start and the at sign of the next mailbox address; both are `end` if there is none.
    private var mailbox: (start: Int, sign: Int)
    /// The last run of hexadecimal digits that was scanned.
    private var hexadecimalRun = 0..<0

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, start: Int, end: Int) {
        self.bytes = bytes
        self.position = start
        self.start = start
        self.end = end
        mailbox = (end, end)
        mailbox = mailbox(from: start)
    }

    /// Returns the next token, or nil if the rest of the message is plain text.
    mutating func next() -> Token? {
        // No word extends back into the last token.
        let first = position
        // A path may have included the start of an address.
        if mailbox.start < first { mailbox = mailbox(from: first) }
        while true {
            // Scan beyond the end of the message as far as there are bytes, instead of scanning the last bytes one by
            // one.
            position = bytes.scan(from: position, to: bytes.count) { ByteClass.marks(in: $0) }
            if position >= mailbox.start, mailbox.start < end { return takeMailbox() }
            guard position < end else { return nil }
            let byte = bytes[position]
            if let token = word(from: first, before: byte) { return token }
            switch ByteClass.of(byte) {
            case .digit: return digits(from: first)
            case .quote: if let token = quoted(byte) { return token }
            case .slash: if let token = path() { return token }
            case .control:
                position &+= 1
                if byte != 0x0A, byte != 0x09, byte != 0x0D { return .control(at: position - 1) }
            case .letter: position &+= 1
            case .other: repeat { position &+= 1 } while position < end && bytes[position] >= 0x80
            }
        }
    }

    private mutating func takeMailbox() -> Token {
        let token = address(from: mailbox.start, continuing: mailbox.sign + 1)
        mailbox = mailbox(from: position)
        return token
    }

    /// Handles a run of letters that ends here. A UUID or hexadecimal number may begin with letters, and a URL with a
    /// word. The bytes after the letters decide.
    private mutating func word(from lowest: Int, before byte: UInt8) -> Token? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            let first = lettersStart(from: lowest)
            return first < position ? uuidOrHexadecimal(from: first, to: hexadecimalEnd(from: first)) : nil
        case UInt8(ascii: ":"):
            let first = lettersStart(from: lowest)
            if first < position, let token = url(from: first, colon: position) { return token }
            return isGroup(behind: position) ? hardwareOrIPv6(from: first) : nil
        default: return nil
        }
    }

    private mutating func digits(from lowest: Int) -> Token {
        let first = position
        let hexadecimalEnd = hexadecimalEnd(from: first)
        if hexadecimalEnd < end, bytes[hexadecimalEnd] == UInt8(ascii: ":"), isGroup(behind: hexadecimalEnd),
            let token = hardwareOrIPv6(from: lettersStart(from: lowest))
        {
            return token
        }
        if let token = uuidOrHexadecimal(from: first, to: hexadecimalEnd) { return token }
        var index = digitsEnd(from: first)
        if bytes[first] == UInt8(ascii: "0"), index == first + 1, index < end, bytes[index] | 0x20 == UInt8(ascii: "x")
        {
            var last = index + 1
            while last < end, ByteClass.isHexadecimal(bytes[last]) { last += 1 }
            if last > index + 1 {
                position = last
                return .part(.hexadecimal, from: first, to: last)
            }
        }
        if let last = ipv4End(from: first) {
            position = portEnd(from: last)
            return .part(.address, from: first, to: position)
        }
        if index + 1 < end, bytes[index] == UInt8(ascii: "."), ByteClass.of(bytes[index + 1]) == .digit {
            index = digitsEnd(from: index + 1)
        }
        position = index
        return .part(.number, from: first, to: index)
    }

    /// Returns a quotation with its quotation marks. A mark after a letter or without a counterpart is an apostrophe.
    private mutating func quoted(_ mark: UInt8) -> Token? {
        let first = position
        position += 1
        guard first == start || !isWordByte(first - 1) else { return nil }
        var index = position
        while index < end, bytes[index] != mark, bytes[index] >= 0x20 { index += 1 }
        guard index < end, bytes[index] == mark, index > position, index + 1 == end || !isWordByte(index + 1) else {
            return nil
        }
        position = index + 1
        return .part(.quoted, from: first, to: position)
    }

    /// Returns a path if the slash begins a word.
    private mutating func path() -> Token? {
        let first = position
        position += 1
        let isStart = first == start || ByteClass.mayPrecedePath(bytes[first - 1])
        guard isStart, position < end, isWordByte(position) || bytes[position] == UInt8(ascii: ".") else {
            return nil
        }
        while position < end, ByteClass.inPath(bytes[position]) { position += 1 }
        // A full stop or colon at the end belongs to the sentence.
        while position > first + 1, ByteClass.isSentencePunctuation(bytes[position - 1]) { position -= 1 }
        return .part(.path, from: first, to: position)
    }

    /// Returns a UUID, or a hexadecimal number of at least eight digits that contains both digitCount and letters.
    private mutating func uuidOrHexadecimal(from first: Int, to index: Int) -> Token? {
        guard first == start || !isWordByte(first - 1) else { return nil }
        guard index &- first >= 8 else { return nil }
        var digitCount = 0
        for position in first..<index where bytes[position] <= UInt8(ascii: "9") { digitCount += 1 }
        if index - first == 8, let last = uuidEnd(from: first) {
            position = last
            return .part(.uuid, from: first, to: last)
        }
        guard digitCount > 0, digitCount < index - first, index == end || !isWordByte(index) else {
            return nil
        }
        position = index
        return .part(.hexadecimal, from: first, to: index)
    }

    private func uuidEnd(from first: Int) -> Int? {
        let last = first + 36
        guard last <= end, last == end || !isWordByte(last) else { return nil }
        for offset in 0..<36 {
            let byte = bytes[first + offset]
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default: guard ByteClass.isHexadecimal(byte) else { return nil }
            }
        }
        return last
    }

    /// Returns the start of the letters that end here.
    private func lettersStart(from lowest: Int) -> Int {
        var index = position
        while index > lowest, ByteClass.isLetter(bytes[index &- 1]) { index &-= 1 }
        return index
    }

    /// Returns the end of the hexadecimal digits that start at an index. Each run of them is scanned once, however many
    /// words begin in it.
    private mutating func hexadecimalEnd(from first: Int) -> Int {
        if first >= hexadecimalRun.lowerBound, first < hexadecimalRun.upperBound { return hexadecimalRun.upperBound }
        // The last vector may extend beyond the end.
        var index = bytes.scan(from: first, to: min(bytes.count, end &+ 15)) {
            ByteClass.others(thanHexadecimalIn: $0)
        }
        while index < end, ByteClass.isHexadecimal(bytes[index]) { index &+= 1 }
        index = min(index, end)
        hexadecimalRun = first..<max(first, index)
        return index
    }

    func digitsEnd(from first: Int) -> Int {
        var index = first
        while index < end, ByteClass.isDigit(bytes[index]) { index &+= 1 }
        return index
    }

    func isWordByte(_ index: Int) -> Bool {
        ByteClass.isLetter(bytes[index]) || ByteClass.isDigit(bytes[index])
    }
}

/// Network addresses, mailbox addresses and URLs.
extension TemplateReader {
    /// Returns the end of four numbers separated by full stops, or nil if there are none.
    func ipv4End(from first: Int) -> Int? {
        var index = first
        for part in 0..<4 {
            let next = digitsEnd(from: index)
            guard next > index, next - index <= 3 else { return nil }
            index = next
            if part < 3 {
                guard index < end, bytes[index] == UInt8(ascii: ".") else { return nil }
                index += 1
            }
        }
        return index
    }

    func portEnd(from index: Int) -> Int {
        guard index + 1 < end, bytes[index] == UInt8(ascii: ":"), ByteClass.isDigit(bytes[index + 1]) else {
            return index
        }
        return digitsEnd(from: index + 1)
    }

    /// Returns `true` if an IPv6 or hardware address may continue after a colon.
    func isGroup(behind colon: Int) -> Bool {
        colon &+ 1 < end && (ByteClass.isHexadecimal(bytes[colon &+ 1]) || bytes[colon &+ 1] == UInt8(ascii: ":"))
    }

    /// Returns an IPv6 address, possibly with a zone, or a hardware address: groups of hexadecimal digits separated by
    /// colons. Times of day and names with two colons but without digitCount are excluded.
    mutating func hardwareOrIPv6(from first: Int) -> Token? {
        guard first == start || !isWordByte(first - 1) && bytes[first - 1] != UInt8(ascii: ":"),
            var last = colonGroupsEnd(from: first)
        else { return nil }
        if last + 1 < end, bytes[last] == UInt8(ascii: "%"), isWordByte(last + 1) {
            last += 1
            while last < end, isWordByte(last) { last += 1 }
        }
        guard last == end || !isWordByte(last) else { return nil }
        position = last
        return .part(.address, from: first, to: last)
    }

    /// IPv6 according to RFC 4291, section 2.2; a hardware address has six pairs.
    private func colonGroupsEnd(from first: Int) -> Int? {
        var index = first
        var groups = 0
        var hasGap = false
        var isPairs = true
        var hasFigure = false
        if isColon(index), isColon(index + 1) {
            hasGap = true
            index += 2
        }
        while index < end, ByteClass.isHexadecimal(bytes[index]) {
            var next = index
            while next < end, next <= index + 4, ByteClass.isHexadecimal(bytes[next]) {
                hasFigure = hasFigure || ByteClass.isDigit(bytes[next])
                next += 1
            }
            guard next <= index + 4 else { return nil }
            if next < end, bytes[next] == UInt8(ascii: "."), groups > 0 || hasGap, let last = ipv4End(from: index) {
                groups += 2
                index = last
                break
            }
            groups += 1
            isPairs = isPairs && next == index + 2
            index = next
            guard isColon(index), index + 1 < end else { break }
            if isColon(index + 1) {
                guard !hasGap else { return nil }
                hasGap = true
                index += 2
            } else if ByteClass.isHexadecimal(bytes[index + 1]) {
                index += 1
            } else {
                break
            }
        }
        let isAddress = hasGap ? (1...7).contains(groups) : groups == 8 || groups == 6 && isPairs
        return isAddress && hasFigure ? index : nil
    }

    private func isColon(_ index: Int) -> Bool { index < end && bytes[index] == UInt8(ascii: ":") }

    /// Returns the next mailbox address that starts at or after an index.
    func mailbox(from lowest: Int) -> (start: Int, sign: Int) {
        var index = lowest
        while index < end {
            // The last vector may extend beyond the end.
            index = bytes.scan(from: index, to: min(bytes.count, end &+ 15)) { $0 .== ByteMask.of("@") }
            while index < end, bytes[index] != UInt8(ascii: "@") { index += 1 }
            guard index < end else { break }
            var first = index
            while first > lowest, ByteClass.inMailbox(bytes[first - 1]) { first -= 1 }
            // A dot before the address belongs to the preceding text.
            while first < index, !isWordByte(first) { first += 1 }
            if first < index, index + 1 < end, isWordByte(index + 1) { return (first, index) }
            index += 1
        }
        return (end, end)
    }

    mutating func url(from first: Int, colon: Int) -> Token? {
        guard colon + 3 < end, bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/") else {
            return nil
        }
        return address(from: first, continuing: colon + 3)
    }

    mutating func address(from first: Int, continuing: Int) -> Token {
        var index = continuing
        while index < end, ByteClass.inAddress(bytes[index]) { index += 1 }
        while index > continuing, ByteClass.isSentencePunctuation(bytes[index - 1]) { index -= 1 }
        position = index
        return .part(.address, from: first, to: index)
    }
}

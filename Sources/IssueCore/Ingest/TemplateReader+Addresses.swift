import IssueProtocol

/// Host names, network addresses, mailbox addresses and URLs.
extension TemplateReader {
    /// Returns the dotted name around a full stop, together with what `takeHost` adds to it. Returns nil unless a path
    /// follows the name, or the name may be that of a host (`isHost`).
    mutating func takeName() -> Token? {
        let dot = position
        position += 1
        guard dot >= nameEnd, dot > lowest, ByteClass.inWord(bytes[dot - 1]) || bytes[dot - 1] == UInt8(ascii: "-"),
            position < end, isWordByte(position)
        else { return nil }
        let first = wordStart(before: dot)
        guard first < dot, isWordByte(first) else { return nil }
        var dots = 1
        var lastDot = dot
        var index = dot + 1
        while index < end {
            let byte = bytes[index]
            if byte == UInt8(ascii: "."), index + 1 < end, isWordByte(index + 1) {
                dots += 1
                lastDot = index
            } else if !ByteClass.inWord(byte), byte != UInt8(ascii: "-") {
                break
            }
            index += 1
        }
        nameEnd = index
        let next = index < end ? bytes[index] : 0
        let isPath = next == UInt8(ascii: "/") && index + 1 < end && ByteClass.inPath(bytes[index + 1])
        guard isPath || isHost(from: first, to: index, dots: dots, lastDot: lastDot) else { return nil }
        return takeHost(from: first, to: index)
    }

    /// Returns `true` for a dotted name that does not begin with a capital or an underscore, ends with a label of at
    /// least two lower-case letters, and is not followed by `(` or `::`. If the name has a single dot, the last label
    /// must be in `ShortWords.domains`.
    ///
    /// A `(` that is the last byte of the text is ignored. Changing this would move issues to other fingerprints.
    func isHost(from first: Int, to last: Int, dots: Int, lastDot: Int) -> Bool {
        let label = lastDot + 1
        guard last - label >= 2, bytes[first] | 0x20 == bytes[first] else { return false }
        for index in label..<last where bytes[index] &- UInt8(ascii: "a") >= 26 { return false }
        if last + 1 < end {
            let (byte, next) = (bytes[last], bytes[last + 1])
            if byte == UInt8(ascii: "(") || byte == UInt8(ascii: ":") && next == byte { return false }
        }
        return dots > 1 || shortWordEnd(from: label, in: ShortWords.domains) == last
    }

    /// Returns a host name with its port, and with its path or the IPv4 addresses that follow.
    mutating func takeHost(from first: Int, to last: Int) -> Token {
        let port = portEnd(from: last)
        if port + 1 < end, bytes[port] == UInt8(ascii: "/"), ByteClass.inPath(bytes[port + 1]) {
            return takeAddress(from: first, continuing: port + 1)
        }
        return takeAddressList(from: first, to: port)
    }

    /// Returns an address together with the IPv4 addresses that follow it.
    mutating func takeAddressList(from first: Int, to last: Int) -> Token {
        var last = last
        while let next = nextItem(after: last), ByteClass.isDigit(bytes[next]),
            let end = ipv4AddressEnd(from: next)
        {
            last = end
        }
        position = last
        return .part(.address, from: first, to: last)
    }

    /// Returns the URL, Windows path, IPv6 or hardware address around a colon, or the truth value after it; nil if
    /// there is none.
    mutating func takeColon() -> Token? {
        let first = lettersStart()
        if first < position {
            if let token = takeURL(from: first, colon: position) { return token }
            if first == position - 1, position + 1 < end, bytes[position + 1] == UInt8(ascii: "\\"),
                first == start || !isWordByte(first - 1)
            {
                return takePath(from: first)
            }
        }
        if isGroup(after: position), let token = takeHardwareOrIPv6(from: first) { return token }
        position += 1
        return takeTruthValue(after: position)
    }

    /// Returns the IPv6 or hardware address around a digit; nil if there is none.
    mutating func takeColonGroups(_ digit: Int) -> Token? {
        var index = digit + 1
        while index < end, index <= digit + 4, ByteClass.isHexadecimal(bytes[index]) { index &+= 1 }
        guard index < end, bytes[index] == UInt8(ascii: ":"), isGroup(after: index) else { return nil }
        return takeHardwareOrIPv6(from: lettersStart())
    }

    /// Returns the end of the UUID that starts at an index; nil if there is none.
    func uuidEnd(from first: Int) -> Int? {
        let last = first + 36
        guard last <= end, bytes[first + 8] == UInt8(ascii: "-"), last == end || !isWordByte(last) else { return nil }
        for offset in 0..<36 {
            let byte = bytes[first + offset]
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default: guard ByteClass.isHexadecimal(byte) else { return nil }
            }
        }
        return last
    }

    /// Returns the end of the IPv4 address that starts at an index, including its port or prefix length; nil if there
    /// is no address, or if the word continues after it. The four numbers may be up to 999.
    func ipv4AddressEnd(from first: Int) -> Int? {
        guard let last = bytes.dottedNumbersEnd(from: first, to: end, maximum: 999) else { return nil }
        if last < end {
            if ByteClass.inWord(bytes[last]) { return nil }
            if bytes[last] == UInt8(ascii: "-") || bytes[last] == UInt8(ascii: "."), last + 1 < end,
                isWordByte(last + 1)
            {
                return nil
            }
            if bytes[last] == UInt8(ascii: "/"), last + 1 < end, ByteClass.isDigit(bytes[last + 1]) {
                return digitsEnd(from: last + 1)
            }
        }
        return portEnd(from: last)
    }

    /// Returns the end of the colon and port that start at an index, or the index if there is no port.
    func portEnd(from index: Int) -> Int {
        guard index + 1 < end, bytes[index] == UInt8(ascii: ":"), ByteClass.isDigit(bytes[index + 1]) else {
            return index
        }
        return digitsEnd(from: index + 1)
    }

    /// Returns `true` if an IPv6 or hardware address may continue after a colon.
    func isGroup(after colon: Int) -> Bool {
        colon &+ 1 < end && (ByteClass.isHexadecimal(bytes[colon &+ 1]) || bytes[colon &+ 1] == UInt8(ascii: ":"))
    }

    /// Returns an IPv6 or hardware address: groups of hexadecimal digits separated by colons. A zone, and brackets with
    /// a port, are included. Returns nil for other text, such as a time of day or a name without a digit (`a::b`).
    mutating func takeHardwareOrIPv6(from first: Int) -> Token? {
        guard first == start || !isWordByte(first - 1) && bytes[first - 1] != UInt8(ascii: ":"),
            let groups = ColonGroups(bytes, from: first, to: end, maximum: 999), groups.isIPv6 || groups.isHardware
        else { return nil }
        var last = groups.end
        if last + 1 < end, bytes[last] == UInt8(ascii: "%"), isWordByte(last + 1) {
            last += 1
            while last < end, isWordByte(last) { last += 1 }
        }
        guard last == end || !isWordByte(last) else { return nil }
        if first > lowest, bytes[first - 1] == UInt8(ascii: "["), last < end, bytes[last] == UInt8(ascii: "]"),
            portEnd(from: last + 1) > last + 1
        {
            position = portEnd(from: last + 1)
            return .part(.address, from: first - 1, to: position)
        }
        position = last
        return .part(.address, from: first, to: last)
    }

    /// Returns the next mailbox address that starts at or after an index: its start and the index of its at sign. Both
    /// are `end` if there is none.
    func mailbox(from lowest: Int) -> (start: Int, sign: Int) {
        var index = lowest
        while index < end {
            // The scan tests only whole vectors. It may extend beyond `end`, so that a vector contains the last bytes.
            index = bytes.scan(from: index, to: min(bytes.count, end &+ 15)) { $0 .== ByteMask.of("@") }
            while index < end, bytes[index] != UInt8(ascii: "@") { index += 1 }
            guard index < end else { break }
            var first = index
            while first > lowest, ByteClass.inMailbox(bytes[first - 1]) { first -= 1 }
            // Punctuation before the address belongs to the preceding text.
            while first < index, !isWordByte(first) { first += 1 }
            if first < index, index + 1 < end, isWordByte(index + 1) { return (first, index) }
            index += 1
        }
        return (end, end)
    }

    mutating func takeURL(from first: Int, colon: Int) -> Token? {
        guard colon + 3 < end, bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/") else {
            return nil
        }
        return takeAddress(from: first, continuing: colon + 3)
    }

    /// Returns the address that starts at `first`.
    ///
    /// - Parameter rest: The index at which the search for the address's end begins.
    mutating func takeAddress(from first: Int, continuing rest: Int) -> Token {
        var index = rest
        while index < end, ByteClass.inAddress(bytes[index]) { index += 1 }
        while index > rest, ByteClass.isSentencePunctuation(bytes[index - 1]) { index -= 1 }
        position = index
        return .part(.address, from: first, to: index)
    }
}

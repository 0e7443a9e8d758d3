import IssueProtocol

/// Addresses of machines, of mailboxes, and of what a URL names.
extension TemplateReader {
    /// Where four numbers with full stops between them end.
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

    /// Whether an address of groups may go on behind a colon.
    func isGroup(behind colon: Int) -> Bool {
        colon &+ 1 < end && (ByteClass.isHexadecimal(bytes[colon &+ 1]) || bytes[colon &+ 1] == UInt8(ascii: ":"))
    }

    /// An address of IPv6, perhaps with its zone, or of a network card: groups of hexadecimal digits with colons between
    /// them. A time of day is neither, nor a name with two colons in which there is no figure.
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

    /// RFC 4291, section 2.2, for IPv6; six pairs for a network card.
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

    /// The next address of a mailbox that begins at an index or behind it.
    func mailbox(from lowest: Int) -> (start: Int, sign: Int) {
        var index = lowest
        while index < end {
            // The last vector may reach beyond the end.
            index = bytes.scan(from: index, to: min(bytes.count, end &+ 15)) { $0 .== ByteMask.of("@") }
            while index < end, bytes[index] != UInt8(ascii: "@") { index += 1 }
            guard index < end else { break }
            var first = index
            while first > lowest, ByteClass.inMailbox(bytes[first - 1]) { first -= 1 }
            // A dot before it belongs to what was said before.
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
        while index > continuing, ByteClass.endsSentence(bytes[index - 1]) { index -= 1 }
        position = index
        return .part(.address, from: first, to: index)
    }
}

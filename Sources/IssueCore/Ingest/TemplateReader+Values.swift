import IssueProtocol

/// Numbers, dates and other words that contain a digit, and lists of these.
extension TemplateReader {
    /// Returns the number (with its sign and unit), date, identifier or address around a digit, with the list that it
    /// begins. Returns nil if the word around the digit stays in the template.
    mutating func takeValue() -> Token? {
        let digit = position
        // Most numbers are between two spaces.
        if digit == start || bytes[digit - 1] == UInt8(ascii: " ") {
            let last = digitsEnd(from: digit)
            if last == end || bytes[last] == UInt8(ascii: " ") {
                return takeNumber(from: digit, digits: digit, to: last)
            }
        }
        if let token = takeColonGroups(digit) { return token }
        var first = wordStart(before: digit)
        while first < digit, bytes[first] == UInt8(ascii: "-") { first += 1 }
        if first == digit {
            if let last = ipv4AddressEnd(from: digit) { return takeAddressList(from: digit, to: last) }
        }
        if let last = uuidEnd(from: first) {
            position = last
            return .part(.uuid, from: first, to: last)
        }
        let word = Word(first: first, digit: digit, self)
        position = word.end
        switch word.kind {
        case .name:
            lowest = position
            return nil
        case .scheme: return takeAddress(from: first, continuing: word.end + 3)
        case .host: return takeHost(from: first, to: word.end)
        case .value: break
        }
        return takeNumber(from: first, digits: digit, to: word.end)
    }

    /// Returns a word that contains a digit, with the unit and the list that follow it. If the word begins with a
    /// digit, the weekday and month or the sign before it are included.
    private mutating func takeNumber(from first: Int, digits digit: Int, to last: Int) -> Token {
        let last = listEnd(after: unitEnd(after: last), ofNumbers: first == digit)
        position = last
        guard first == digit else { return .part(.number, from: first, to: last) }
        // A day of the month has two digits at most.
        let date = digitsEnd(from: digit) <= digit + 2 ? dateStart(before: digit) : digit
        return .part(.number, from: date < digit ? date : signStart(of: digit, endingAt: last), to: last)
    }

    /// A word that contains a digit.
    struct Word {
        enum Kind {
            case value
            /// A host name.
            case host
            /// The scheme of a URL.
            case scheme
            /// The name of a function or type, or a technical term. It stays in the template.
            case name
        }

        var kind = Kind.value
        var end: Int

        init(first: Int, digit: Int, _ reader: borrowing TemplateReader) {
            let (bytes, limit) = (reader.bytes, reader.end)
            var index = digit + 1
            while index < limit, ByteClass.isDigit(bytes[index]) { index &+= 1 }
            var dots = 0
            var lastDot = digit
            /// The end of what may be a host name.
            var hostEnd = limit
            scan: while index < limit {
                let byte = bytes[index]
                if ByteClass.inWord(byte) {
                    index &+= 1
                    continue
                }
                guard index + 1 < limit else { break }
                let next = bytes[index + 1]
                switch byte {
                case UInt8(ascii: "-"): guard reader.isWordByte(index + 1) else { break scan }
                case UInt8(ascii: "."):
                    guard reader.isWordByte(index + 1) else { break scan }
                    if index < hostEnd {
                        dots += 1
                        lastDot = index
                    }
                case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "+"), UInt8(ascii: "*"):
                    guard ByteClass.isDigit(next) else { break scan }
                    hostEnd = min(hostEnd, index)
                case UInt8(ascii: "/"):
                    guard ByteClass.isDigit(next) || reader.monthEnd(from: index + 1) != nil else { break scan }
                    hostEnd = min(hostEnd, index)
                case UInt8(ascii: "~"), UInt8(ascii: "\\"):
                    guard ByteClass.inWord(next) || next == byte else { break scan }
                    hostEnd = min(hostEnd, index)
                case UInt8(ascii: "#"):
                    guard next == byte || ByteClass.isDigit(next) else { break scan }
                    hostEnd = min(hostEnd, index)
                default: break scan
                }
                index &+= 1
            }
            end = index
            if dots > 0, reader.isHost(from: first, to: min(index, hostEnd), dots: dots, lastDot: lastDot) {
                kind = .host
                end = min(index, hostEnd)
                return
            }
            guard ByteClass.isLetter(bytes[first]) else { return }
            if index + 1 < limit {
                let (byte, next) = (bytes[index], bytes[index + 1])
                if byte == UInt8(ascii: "("), next == UInt8(ascii: ")") { kind = .name }
                if byte == UInt8(ascii: ":"), next == UInt8(ascii: ":") { kind = .name }
                if byte == UInt8(ascii: ":"), next == UInt8(ascii: "/"), index + 3 < limit,
                    bytes[index + 2] == UInt8(ascii: "/")
                {
                    kind = .scheme
                }
            }
            if kind == .value, index - first <= 8, reader.isTerm(from: first, to: index) { kind = .name }
        }
    }

    private func isTerm(from first: Int, to last: Int) -> Bool {
        var word: UInt64 = 0
        for index in first..<last {
            let byte = bytes[index]
            word = word << 8 | UInt64(ByteClass.isLetter(byte) ? byte | 0x20 : byte)
        }
        return ShortWords.terms.contains(word)
    }

    /// Returns the index of the sign before a number, or the number's own start if there is none. A hyphen within a
    /// word is not a sign.
    private func signStart(of first: Int, endingAt last: Int) -> Int {
        guard first > lowest else { return first }
        let isAfterSpace = first - 1 == start || bytes[first - 2] == UInt8(ascii: " ")
        switch bytes[first - 1] {
        case UInt8(ascii: "-"), UInt8(ascii: "+"):
            return first - 1 == start || !isWordByte(first - 2) ? first - 1 : first
        case UInt8(ascii: "~"): return isAfterSpace ? first - 1 : first
        case UInt8(ascii: "<"), UInt8(ascii: ">"):
            // The sign belongs to the number in "<1 sec", but not in "<42>".
            return isAfterSpace && (last == end || bytes[last] != UInt8(ascii: ">")) ? first - 1 : first
        default: return first
        }
    }

    /// Returns the end of a unit after a number and a space, or the number's own end.
    private func unitEnd(after last: Int) -> Int {
        guard last + 1 < end, bytes[last] == UInt8(ascii: " "), ByteClass.mayBeginUnit(bytes[last + 1]) else {
            return last
        }
        guard let unit = shortWordEnd(from: last + 1, in: ShortWords.units) else { return last }
        // A single letter other than `B` is more likely a name than a unit.
        return unit == last + 2 && bytes[last + 1] != UInt8(ascii: "B") ? last : unit
    }

    // MARK: Lists

    /// Returns the end of the list whose first value ends at an index, or the index if no further value follows.
    ///
    /// Spaces and commas separate the values. A list is one token, because the number of its values varies too.
    /// Identifiers that begin with a letter do not continue a list of numbers, but the names of months do.
    private func listEnd(after value: Int, ofNumbers isNumbers: Bool) -> Int {
        var last = value
        while let first = nextItem(after: last) {
            guard let next = itemEnd(from: first, ofNumbers: isNumbers) else { break }
            last = unitEnd(after: next)
        }
        return last
    }

    /// Returns the index after a comma, spaces, or a comma and spaces, at most three bytes in all; nil if there are
    /// none, or if nothing follows them.
    func nextItem(after last: Int) -> Int? {
        var index = last
        if index < end, bytes[index] == UInt8(ascii: ",") { index += 1 }
        while index < end, index < last + 3, bytes[index] == UInt8(ascii: " ") { index += 1 }
        return index > last && index < end ? index : nil
    }

    /// Returns the end of the value that starts at an index; nil if there is none that continues a list.
    private func itemEnd(from start: Int, ofNumbers isNumbers: Bool) -> Int? {
        var first = start
        if let last = monthEnd(from: first) { return last }
        if bytes[first] == UInt8(ascii: "-") || bytes[first] == UInt8(ascii: "+") { first += 1 }
        var digit = first
        if isNumbers, digit < end, !ByteClass.isDigit(bytes[digit]) { return nil }
        while digit < end, ByteClass.inWord(bytes[digit]) || bytes[digit] == UInt8(ascii: "-"),
            !ByteClass.isDigit(bytes[digit])
        {
            digit += 1
        }
        guard digit < end, ByteClass.isDigit(bytes[digit]), ipv4AddressEnd(from: digit) == nil,
            uuidEnd(from: first) == nil
        else { return nil }
        let word = Word(first: first, digit: digit, self)
        // A host, a URL or a name does not continue the list. Nor does a key or a mailbox address.
        guard word.kind == .value else { return nil }
        if word.end < end, bytes[word.end] == UInt8(ascii: "=") || bytes[word.end] == UInt8(ascii: "@") { return nil }
        return word.end
    }

    // MARK: Dates

    /// Returns the start of the weekday or month, or of both, before a number; the number's own start if there is none.
    private func dateStart(before number: Int) -> Int {
        var first = number
        if let month = word(before: first, in: ShortWords.months) { first = month }
        if let weekday = word(before: first, in: ShortWords.weekdays) { first = weekday }
        return first
    }

    /// Returns the start of the word before an index if it is capitalised and in `words`; nil otherwise. One or two
    /// spaces, possibly after a comma, must separate the word from the index.
    private func word(before index: Int, in words: ShortWords) -> Int? {
        var last = index
        while last > lowest, last > index - 2, bytes[last - 1] == UInt8(ascii: " ") { last -= 1 }
        guard last < index else { return nil }
        if last > lowest, bytes[last - 1] == UInt8(ascii: ",") { last -= 1 }
        var first = last
        while first > lowest, last - first < 9, ByteClass.isLetter(bytes[first - 1]) { first -= 1 }
        guard last - first >= 3, bytes[first] < UInt8(ascii: "a"), shortWordEnd(from: first, in: words) == last else {
            return nil
        }
        return first == start || !isWordByte(first - 1) ? first : nil
    }

    /// Returns the end of the capitalised name of a month that starts at an index; nil if there is none.
    @inline(__always)
    func monthEnd(from first: Int) -> Int? {
        guard ByteClass.isCapital(bytes[first]) else { return nil }
        return shortWordEnd(from: first, in: ShortWords.months)
    }
}

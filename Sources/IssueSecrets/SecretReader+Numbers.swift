/// Numbers with a checksum: payment cards and bank accounts.
extension SecretReader {
    /// Returns the number of a card that starts at an index.
    mutating func number(at index: Int) -> RedactionMatch? {
        guard rules.contains(.creditcard) else { return nil }
        if index + 1 < end, bytes[index + 1] >= 0x80 {
            // The last digit before a separator that is not ASCII.
            return index >= start + 3 ? card(at: index - 3, firstEnd: index + 1) : nil
        }
        let groupEnd = digitsEnd(from: index)
        if let match = card(at: index, firstEnd: groupEnd) { return match }
        position = groupEnd
        return nil
    }

    private func digitsEnd(from first: Int) -> Int {
        var index = first
        while index < end, ByteClass.isDigit(bytes[index]) { index += 1 }
        return index
    }

    // MARK: Cards

    /// The sizes of the groups in which numbers are written.
    private static let groups: [[Int]] = [[4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3]]

    private func card(at first: Int, firstEnd: Int) -> RedactionMatch? {
        guard first >= lowest, first == start || !isJoined(bytes[first - 1]) else { return nil }
        if first >= start + 2, bytes[first - 1] == UInt8(ascii: "-"), isWordByte(first - 2) { return nil }
        if (14...19).contains(firstEnd - first) {
            return endsNumber(at: firstEnd) ? card(from: first, to: firstEnd) : nil
        }
        guard firstEnd - first == 4, let width = separatorWidth(at: firstEnd) else { return nil }
        for sizes in Self.groups {
            var index = first
            var isWhole = true
            for (number, size) in sizes.enumerated() {
                if number > 0 {
                    guard index + width <= end, isSame(index, firstEnd, count: width) else {
                        isWhole = false
                        break
                    }
                    index += width
                }
                let next = digitsEnd(from: index)
                guard next - index == size else {
                    isWhole = false
                    break
                }
                index = next
            }
            guard isWhole, endsNumber(at: index) else { continue }
            // The number continues, as in a UUID.
            if index + width < end, bytes[firstEnd] != UInt8(ascii: " "), isSame(index, firstEnd, count: width),
                isWordByte(index + width)
            {
                continue
            }
            if let match = card(from: first, to: index) { return match }
        }
        return nil
    }

    /// Returns the number of bytes of a separator between groups of digits; nil if there is none.
    private func separatorWidth(at index: Int) -> Int? {
        guard index < end else { return nil }
        switch bytes[index] {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "_"),
            UInt8(ascii: "\t"):
            return 1
        // A no-break space (U+00A0).
        case 0xC2: return has("\u{A0}", at: index) ? 2 : nil
        // Spaces and hyphens of U+2000 to U+2015, and the narrow no-break space (U+202F).
        case 0xE2:
            guard index + 2 < end, bytes[index + 1] == 0x80 else { return nil }
            return bytes[index + 2] <= 0x95 || bytes[index + 2] == 0xAF ? 3 : nil
        default: return nil
        }
    }

    private func isSame(_ index: Int, _ other: Int, count: Int) -> Bool {
        for offset in 0..<count where bytes[index + offset] != bytes[other + offset] { return false }
        return true
    }

    private func isJoined(_ byte: UInt8) -> Bool {
        ByteClass.inWord(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "#")
    }

    private func endsNumber(at index: Int) -> Bool {
        guard index < end else { return true }
        if ByteClass.inWord(bytes[index]) { return false }
        return !(bytes[index] == UInt8(ascii: ".") && index + 1 < end && ByteClass.isDigit(bytes[index + 1]))
    }

    /// Returns the number of a card if its issuer exists and its check digit is right (ISO/IEC 7812-1).
    private func card(from first: Int, to last: Int) -> RedactionMatch? {
        var number: UInt64 = 0
        var count = 0
        var sum = 0
        var isDoubled = false
        for index in (first..<last).reversed() where ByteClass.isDigit(bytes[index]) {
            let digit = Int(bytes[index] & 0xF)
            sum += isDoubled ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit
            isDoubled.toggle()
        }
        // The first six digits identify the issuer.
        for index in first..<last where ByteClass.isDigit(bytes[index]) {
            if count < 6 { number = number * 10 + UInt64(bytes[index] & 0xF) }
            count += 1
        }
        guard sum % 10 == 0, Self.isIssuer(number, digits: count) else { return nil }
        return RedactionMatch(rule: .creditcard, start: first, end: last)
    }

    /// Returns `true` if a network has numbers of a length that begin with six digits.
    private static func isIssuer(_ six: UInt64, digits: Int) -> Bool {
        switch six {
        // Visa.
        case 400_000...499_999: digits == 16 || digits == 19
        // Mastercard.
        case 510_000...559_999, 222_100...272_099: digits == 16
        // American Express.
        case 340_000...349_999, 370_000...379_999: digits == 15
        // Discover.
        case 601_100...601_199, 644_000...659_999: digits == 16 || digits == 19
        // Diners Club.
        case 300_000...305_999, 360_000...369_999, 380_000...399_999: digits == 14 || digits == 16
        // JCB.
        case 352_800...358_999: digits == 16
        // UnionPay.
        case 620_000...629_999: digits >= 16
        // Maestro.
        case 501_800...501_899, 502_000...502_099, 503_800...503_899, 589_300...589_399, 630_400...630_499,
            675_900...676_399:
            digits >= 16
        default: false
        }
    }

    // MARK: Accounts

    /// Returns the international account number that starts at an index, in groups of four or without spaces (ISO
    /// 13616).
    func account(at first: Int) -> RedactionMatch? {
        guard rules.contains(.iban), first + 15 <= end, isCapital(bytes[first]), isCapital(bytes[first + 1]),
            ByteClass.isDigit(bytes[first + 2]), ByteClass.isDigit(bytes[first + 3]),
            first == start || !ByteClass.inWord(bytes[first - 1]),
            let count = AccountLengths.length(bytes[first], bytes[first + 1])
        else { return nil }
        // Without a separator, the account follows at once.
        let width = bytes[first + 4] == UInt8(ascii: "-") ? 0 : separatorWidth(at: first + 4) ?? 0
        var remainder = 0
        var read = 4
        var index = first + 4
        while read < count {
            if width > 0, read % 4 == 0 {
                guard index + width <= end, isSame(index, first + 4, count: width) else { return nil }
                index += width
            }
            guard index < end, let next = Self.continued(remainder, bytes[index]) else { return nil }
            remainder = next
            index += 1
            read += 1
        }
        // The country and the check digits count last.
        for offset in 0..<4 { remainder = Self.continued(remainder, bytes[first + offset]) ?? 0 }
        guard remainder == 1, index == end || !ByteClass.inWord(bytes[index]) else { return nil }
        return RedactionMatch(rule: .iban, start: first, end: index)
    }

    private func isCapital(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "A") < 26 }

    /// Returns the remainder modulo 97 after another digit or letter; nil for another character.
    private static func continued(_ remainder: Int, _ byte: UInt8) -> Int? {
        if ByteClass.isDigit(byte) { return (remainder * 10 + Int(byte & 0xF)) % 97 }
        guard byte &- UInt8(ascii: "A") < 26 else { return nil }
        return (remainder * 100 + Int(byte) - 55) % 97
    }
}

/// The lengths of account numbers by country (SWIFT's IBAN registry).
private enum AccountLengths {
    /// Returns the number of characters; nil if the country has no such numbers.
    static func length(_ first: UInt8, _ second: UInt8) -> Int? {
        lengths[Int(first - 65) * 26 + Int(second - 65)]
    }

    private static let lengths: [Int?] = {
        let list =
            "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 "
            + "EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 "
            + "KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 "
            + "PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 "
            + "UA29 VA22 VG24 XK20 YE30"
        var lengths = [Int?](repeating: nil, count: 26 * 26)
        for entry in list.split(separator: " ") {
            let code = Array(entry.utf8.prefix(2))
            lengths[Int(code[0] - 65) * 26 + Int(code[1] - 65)] = Int(entry.dropFirst(2))
        }
        return lengths
    }()
}

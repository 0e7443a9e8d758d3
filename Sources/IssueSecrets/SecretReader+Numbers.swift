/// Numbers with a checksum: payment cards and bank accounts.
extension SecretReader {
    /// Returns the card number that starts at an index or, if the next byte is not ASCII, the one whose first group
    /// ends at the index; nil if there is none, or if the rule is not used.
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

    private func card(at first: Int, firstEnd: Int) -> RedactionMatch? {
        guard first >= lowest, first == start || !isJoined(bytes[first - 1]) else { return nil }
        if first >= start + 2, bytes[first - 1] == UInt8(ascii: "-"), isWordByte(first - 2) { return nil }
        if (14...19).contains(firstEnd - first) {
            return endsNumber(at: firstEnd) ? card(from: first, to: firstEnd) : nil
        }
        guard firstEnd - first == 4, let width = separatorWidth(at: firstEnd) else { return nil }
        func next(after index: Int) -> Int {
            guard index + width <= end, isSame(index, firstEnd, count: width) else { return index }
            return digitsEnd(from: index + width)
        }
        // The sizes of the groups are 4-4-4-4, 4-4-4-4-3, 4-6-5 or 4-6-4.
        let second = next(after: firstEnd)
        guard second - firstEnd == width + 4 || second - firstEnd == width + 6 else { return nil }
        let third = next(after: second)
        if second - firstEnd == width + 6 {
            guard third - second == width + 4 || third - second == width + 5 else { return nil }
            return card(from: first, to: third, firstEnd: firstEnd, separatorWidth: width)
        }
        guard third - second == width + 4 else { return nil }
        let fourth = next(after: third)
        guard fourth - third == width + 4 else { return nil }
        if let match = card(from: first, to: fourth, firstEnd: firstEnd, separatorWidth: width) { return match }
        let fifth = next(after: fourth)
        guard fifth - fourth == width + 3 else { return nil }
        return card(from: first, to: fifth, firstEnd: firstEnd, separatorWidth: width)
    }

    /// Returns the card number in groups of digits; nil if it is invalid, or if the digits are part of a longer text,
    /// as in a UUID.
    private func card(from first: Int, to last: Int, firstEnd: Int, separatorWidth width: Int) -> RedactionMatch? {
        guard endsNumber(at: last) else { return nil }
        if last + width < end, bytes[firstEnd] != UInt8(ascii: " "), isSame(last, firstEnd, count: width),
            isWordByte(last + width)
        {
            return nil
        }
        return card(from: first, to: last)
    }

    /// Returns the number of bytes of the separator between groups at an index; nil if there is none.
    private func separatorWidth(at index: Int) -> Int? {
        guard index < end else { return nil }
        switch bytes[index] {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "_"),
            UInt8(ascii: "\t"):
            return 1
        // A no-break space (U+00A0).
        case 0xC2: return has("\u{A0}", at: index) ? 2 : nil
        // U+2000 to U+2015, most of which are spaces and hyphens, and the narrow no-break space (U+202F).
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

    /// Returns the card number if its issuer exists and its check digit is correct (ISO/IEC 7812-1); otherwise nil.
    private func card(from first: Int, to last: Int) -> RedactionMatch? {
        var number: UInt64 = 0
        var count = 0
        // The Luhn sums with every second digit doubled: one for each parity, because the number of digits is not known
        // yet.
        var (sum, other) = (0, 0)
        for index in first..<last {
            let byte = bytes[index] &- UInt8(ascii: "0")
            guard byte < 10 else { continue }
            let digit = Int(byte)
            (sum, other) = (other &+ digit, sum &+ 2 &* digit &- (digit > 4 ? 9 : 0))
            // The first six digits identify the issuer.
            if count < 6 { number = number &* 10 &+ UInt64(byte) }
            count &+= 1
        }
        guard sum % 10 == 0, Self.isIssuer(number, digits: count) else { return nil }
        return RedactionMatch(rule: .creditcard, start: first, end: last)
    }

    /// Returns `true` if a card network issues numbers with these first six digits and this number of digits.
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

    /// Returns the international account number (IBAN) that starts at an index, in groups of four characters or without
    /// separators (ISO 13616).
    func account(at first: Int) -> RedactionMatch? {
        guard rules.contains(.iban), first + 15 <= end, ByteClass.isCapital(bytes[first]),
            ByteClass.isCapital(bytes[first + 1]),
            ByteClass.isDigit(bytes[first + 2]), ByteClass.isDigit(bytes[first + 3]),
            first == start || !ByteClass.inWord(bytes[first - 1]),
            let count = AccountLengths.length(bytes[first], bytes[first + 1])
        else { return nil }
        // If there is no separator, the width is 0.
        let width = bytes[first + 4] == UInt8(ascii: "-") ? 0 : separatorWidth(at: first + 4) ?? 0
        // The length is checked first, because that costs less than the checksum.
        let last = first + count + (count - 1) / 4 * width
        guard last <= end, last == end || !ByteClass.inWord(bytes[last]) else { return nil }
        var remainder: UInt64 = 0
        var index = first + 4
        while index < last {
            guard isSame(index, first + 4, count: width) else { return nil }
            index += width
            let count = min(4, last - index)
            // The compiler unrolls the loop over a constant number of characters.
            let next = count == 4 ? continued(remainder, index, count: 4) : continued(remainder, index, count: count)
            guard let next else { return nil }
            remainder = next
            index += count
        }
        // The checksum ends with the country and the check digits.
        guard continued(remainder, first, count: 4) == 1 else { return nil }
        return RedactionMatch(rule: .iban, start: first, end: last)
    }

    /// Appends up to four digits and capital letters to the number whose remainder modulo 97 is given, and returns the
    /// new remainder; nil if there are other characters.
    @inline(__always)
    private func continued(_ remainder: UInt64, _ first: Int, count: Int) -> UInt64? {
        // One division for all characters, and no branch that depends on a character.
        var (number, factor, invalid) = (UInt64(0), UInt64(1), UInt8(0))
        for offset in 0..<count {
            let byte = bytes[first &+ offset]
            let (digit, letter) = (byte &- UInt8(ascii: "0"), byte &- UInt8(ascii: "A"))
            let scale: UInt64 = digit < 10 ? 10 : 100
            number = number &* scale &+ UInt64(digit < 10 ? digit : letter &+ 10)
            factor &*= scale
            invalid |= digit < 10 ? 0 : letter < 26 ? 0 : 1
        }
        return invalid == 0 ? (remainder &* factor &+ number) % 97 : nil
    }
}

/// The lengths of account numbers by country (SWIFT's IBAN registry).
private enum AccountLengths {
    /// Returns the number of characters for a country code of two capital letters; nil if the country has no IBANs.
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

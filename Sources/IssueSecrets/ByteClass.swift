public import IssueWire

/// The class of a byte in a message. Public so that `IssueCore` inlines it.
public enum ByteClass {
    case letter
    case digit
    case quote
    case slash
    case backslash
    case dot
    case colon
    case equals
    case control
    case other

    @inlinable @inline(__always)
    public static func of(_ byte: UInt8) -> ByteClass {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .letter
        case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): .quote
        case UInt8(ascii: "/"): .slash
        case UInt8(ascii: "\\"): .backslash
        case UInt8(ascii: "."): .dot
        case UInt8(ascii: ":"): .colon
        case UInt8(ascii: "="): .equals
        case 0..<0x20, 0x7F: .control
        default: .other
        }
    }

    /// Selects the bytes at which a variable part of a message may be found, including all bytes that are not ASCII.
    @inlinable @inline(__always)
    public static func marks(in bytes: ByteMask.Vector) -> ByteMask.Found {
        // The range from the full stop to the colon contains the slash and the digits.
        let middle = (bytes .> ByteMask.of("-")) .& (bytes .< ByteMask.of(";"))
        let quotes = (bytes .== ByteMask.of("\"")) .| (bytes .== ByteMask.of("'")) .| (bytes .== ByteMask.of("`"))
        let signs = (bytes .== ByteMask.of("=")) .| (bytes .== ByteMask.of("@")) .| (bytes .== ByteMask.of("\\"))
        let controls = (bytes .== ByteMask.of("\u{7F}")) .| (bytes .< ByteMask.of(" "))
        return middle .| quotes .| signs .| controls
    }

    @inlinable @inline(__always)
    public static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inlinable @inline(__always)
    public static func isCapital(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "A") < 26 }

    @inlinable @inline(__always)
    public static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    @inlinable @inline(__always)
    public static func isHexadecimal(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9 || (byte | 0x20) &- UInt8(ascii: "a") <= 5
    }

    /// Returns `true` for a letter, digit or underscore.
    @inlinable @inline(__always)
    public static func inWord(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") }

    /// Returns `true` for the first letters of the words in `ShortWords.units`.
    @inlinable @inline(__always)
    public static func mayBeginUnit(_ byte: UInt8) -> Bool {
        let letters: UInt32 = 0b1100_1001_0100_1100_1011
        let index = (byte | 0x20) &- UInt8(ascii: "a")
        return index < 26 && letters >> UInt32(index) & 1 != 0
    }

    /// Returns `true` for the first letters of the words in `ShortWords.truthValues`.
    @inlinable @inline(__always)
    public static func mayBeginTruthValue(_ byte: UInt8) -> Bool {
        switch byte | 0x20 {
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): true
        default: false
        }
    }

    /// Returns `true` if an equals sign after the byte may separate a key from its value.
    @inlinable
    public static func mayEndKey(_ byte: UInt8) -> Bool {
        inWord(byte) || byte == UInt8(ascii: ")") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "-")
    }

    /// Returns `true` if a slash after the byte may begin a path.
    @inlinable
    public static func mayPrecedePath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "="), UInt8(ascii: ":"),
            UInt8(ascii: ","), UInt8(ascii: "~"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "{"),
            UInt8(ascii: "|"), UInt8(ascii: ";"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), 0x0A, 0x09:
            true
        default: false
        }
    }

    /// Returns `true` if the byte, which is neither a letter nor a digit, may follow the first slash of a path.
    @inlinable
    public static func mayBeginPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"), UInt8(ascii: "$"), UInt8(ascii: "%"): true
        default: false
        }
    }

    /// Returns `true` if the byte may occur in a path.
    @inlinable
    public static func inPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "~"), UInt8(ascii: "@"), UInt8(ascii: "%"), UInt8(ascii: "+"),
            UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "#"),
            UInt8(ascii: "*"), UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "\\"), 0x80...0xFF:
            true
        default: false
        }
    }

    /// Returns `true` if the byte may occur before the at sign of a mailbox address. Covers only the common characters.
    @inlinable
    public static func inMailbox(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "+"):
            true
        default: false
        }
    }

    /// Returns `true` if the byte may occur in a network address.
    @inlinable
    public static func inAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ";"): true
        default: inPath(byte)
        }
    }

    /// Returns `true` for punctuation that belongs to the sentence if it directly follows a path, an address or a
    /// secret value.
    @inlinable
    public static func isSentencePunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: ";"): true
        default: false
        }
    }
}

extension Span<UInt8> {
    /// Returns the end of four numbers of up to three digits, separated by full stops; nil if there are none.
    ///
    /// - Parameters:
    ///   - first: The index of the first digit.
    ///   - end: The index after the text.
    ///   - maximum: The maximum value of a number: 255 for an IPv4 address.
    package func dottedNumbersEnd(from first: Int, to end: Int, maximum: Int) -> Int? {
        var index = first
        for part in 0..<4 {
            let digits = index
            var number = 0
            while index < end, index <= digits + 3, ByteClass.isDigit(self[index]) {
                number = number * 10 + Int(self[index] & 0xF)
                index += 1
            }
            guard index > digits, index <= digits + 3, number <= maximum else { return nil }
            if part < 3 {
                guard index < end, self[index] == UInt8(ascii: ".") else { return nil }
                index += 1
            }
        }
        return index
    }
}

/// Groups of hexadecimal digits separated by colons, which may be an IPv6 address or a hardware address.
package struct ColonGroups {
    /// The index after the last group, or after the double colon if the groups end with one.
    package private(set) var end: Int
    private var count = 0
    private var hasGap = false
    private var hasDigit = false
    private var isPairs = true

    /// Whether the groups are an IPv6 address (RFC 4291, section 2.2) that contains a decimal digit.
    package var isIPv6: Bool { hasDigit && (hasGap ? (1...7).contains(count) : count == 8) }
    /// Whether the groups are a hardware address, which has six pairs of digits.
    package var isHardware: Bool { !hasGap && count == 6 && isPairs }

    /// Reads the groups that start at an index. Returns nil if a group has more than four digits, or if there are two
    /// double colons.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the text.
    ///   - first: The index of the first digit or colon.
    ///   - end: The index after the text.
    ///   - maximum: The maximum value of each number of an IPv4 address at the end.
    package init?(_ bytes: Span<UInt8>, from first: Int, to end: Int, maximum: Int) {
        var index = first
        if first + 1 < end, bytes[first] == UInt8(ascii: ":"), bytes[first + 1] == UInt8(ascii: ":") {
            hasGap = true
            index += 2
        }
        while index < end, ByteClass.isHexadecimal(bytes[index]) {
            var next = index
            while next < end, next <= index + 4, ByteClass.isHexadecimal(bytes[next]) {
                hasDigit = hasDigit || ByteClass.isDigit(bytes[next])
                next += 1
            }
            guard next <= index + 4 else { return nil }
            if next < end, bytes[next] == UInt8(ascii: "."), count > 0 || hasGap,
                let last = bytes.dottedNumbersEnd(from: index, to: end, maximum: maximum)
            {
                count += 2
                index = last
                break
            }
            count += 1
            isPairs = isPairs && next == index + 2
            index = next
            guard index + 1 < end, bytes[index] == UInt8(ascii: ":") else { break }
            if bytes[index + 1] == UInt8(ascii: ":") {
                guard !hasGap else { return nil }
                hasGap = true
                index += 2
            } else if ByteClass.isHexadecimal(bytes[index + 1]) {
                index += 1
            } else {
                break
            }
        }
        self.end = index
    }
}

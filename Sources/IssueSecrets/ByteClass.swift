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

import IssueProtocol

/// The class of a byte in a message.
enum ByteClass {
    case letter
    case digit
    case quote
    case slash
    case control
    case other

    @inline(__always)
    static func of(_ byte: UInt8) -> ByteClass {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .letter
        case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): .quote
        case UInt8(ascii: "/"): .slash
        case 0..<0x20, 0x7F: .control
        default: .other
        }
    }

    /// Returns the bytes at which a replaced part may begin or end, including all bytes that are not ASCII.
    @inline(__always)
    static func marks(in bytes: ByteMask.Vector) -> ByteMask.Found {
        // The range from minus to colon contains the full stop, the slash and the digits.
        let middle = (bytes .> ByteMask.of(",")) .& (bytes .< ByteMask.of(";"))
        let quotes = (bytes .== ByteMask.of("\"")) .| (bytes .== ByteMask.of("'")) .| (bytes .== ByteMask.of("`"))
        let others = (bytes .== ByteMask.of("@")) .| (bytes .== ByteMask.of("\u{7F}")) .| (bytes .< ByteMask.of(" "))
        return middle .| quotes .| others
    }

    /// Returns the bytes that are not hexadecimal digits.
    @inline(__always)
    static func others(thanHexadecimalIn bytes: ByteMask.Vector) -> ByteMask.Found {
        let small = bytes | ByteMask.Vector(repeating: 0x20)
        let digits = (bytes .> ByteMask.of("/")) .& (bytes .< ByteMask.of(":"))
        let letters = (small .> ByteMask.of("`")) .& (small .< ByteMask.of("g"))
        return .!(digits .| letters)
    }

    @inline(__always)
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    @inline(__always)
    static func isHexadecimal(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9 || (byte | 0x20) &- UInt8(ascii: "a") <= 5
    }

    /// Returns `true` if a slash after this byte begins a path.
    static func mayPrecedePath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "="), UInt8(ascii: ":"),
            UInt8(ascii: ","), UInt8(ascii: "~"), UInt8(ascii: "<"), 0x0A, 0x09:
            true
        default: false
        }
    }

    static func inPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "~"), UInt8(ascii: "@"), UInt8(ascii: "%"), UInt8(ascii: "+"),
            UInt8(ascii: ":"), 0x80...0xFF:
            true
        default: false
        }
    }

    /// Returns `true` if the byte may occur before the at sign of a mailbox address. Covers the common characters only.
    static func inMailbox(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "+"):
            true
        default: false
        }
    }

    static func inAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "#"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: ";"):
            true
        default: inPath(byte)
        }
    }

    /// Returns `true` if the byte belongs to the sentence when it follows a path or an address.
    static func isSentencePunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: ";"): true
        default: false
        }
    }
}

/// A range of bytes in a batch, stored in eight bytes.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte, as stored.
    public var start: UInt32
    /// The number of bytes.
    public var count: UInt32

    /// An empty range.
    public static let empty = ByteRange(start: 0, count: 0)

    /// Creates a range.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - count: The number of bytes.
    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// Creates a range from two indexes.
    ///
    /// - Parameters:
    ///   - start: The index of the first byte.
    ///   - end: The index after the last byte.
    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    /// The index of the first byte.
    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    /// The index after the last byte.
    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    /// `true` if the range contains no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}

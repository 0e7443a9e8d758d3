import IssueProtocol

/// What kind of character a byte of a message is.
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

    /// The bytes at which something may begin or end that a template does not take over; what is not ASCII is among
    /// them.
    @inline(__always)
    static func marks(in bytes: ByteMask.Vector) -> ByteMask.Found {
        // From the minus to the colon there are the digits, the slash, and the full stop.
        let middle = (bytes .> ByteMask.of(",")) .& (bytes .< ByteMask.of(";"))
        let quotes = (bytes .== ByteMask.of("\"")) .| (bytes .== ByteMask.of("'")) .| (bytes .== ByteMask.of("`"))
        let others = (bytes .== ByteMask.of("@")) .| (bytes .== ByteMask.of("\u{7F}")) .| (bytes .< ByteMask.of(" "))
        return middle .| quotes .| others
    }

    /// The bytes that are no hexadecimal digit.
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

    /// Whether a slash behind this byte begins a path.
    static func beforePath(_ byte: UInt8) -> Bool {
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

    /// Whether a byte may stand before the sign of a mailbox's address, as most have it.
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

    /// Whether a byte at the end of a path or an address is the sentence's own.
    static func endsMessage(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: ";"): true
        default: false
        }
    }
}

/// A part of a batch's bytes, in eight bytes of its own.
public struct ByteRange: Equatable, Sendable {
    /// The index of the first byte, as it is kept.
    public var start: UInt32
    /// How many bytes it is.
    public var count: UInt32

    /// No bytes.
    public static let empty = ByteRange(start: 0, count: 0)

    /// So many bytes from an index on.
    @inlinable @inline(__always)
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// The bytes from one index to before another.
    @inlinable @inline(__always)
    public init(from start: Int, to end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: end &- start)
    }

    /// The index of the first byte.
    @inlinable @inline(__always)
    public var lower: Int { Int(start) }

    /// The index behind the last byte.
    @inlinable @inline(__always)
    public var upper: Int { Int(start) + Int(count) }

    /// Whether it is no bytes.
    @inlinable @inline(__always)
    public var isEmpty: Bool { count == 0 }
}

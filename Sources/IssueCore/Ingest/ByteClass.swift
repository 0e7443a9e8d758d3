import IssueProtocol

/// The class of a byte in a message.
enum ByteClass {
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

    @inline(__always)
    static func of(_ byte: UInt8) -> ByteClass {
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

    /// Returns the bytes at which a replaced part is found, including all bytes that are not ASCII.
    @inline(__always)
    static func marks(in bytes: ByteMask.Vector) -> ByteMask.Found {
        // The range from the full stop to the colon contains the slash and the digits.
        let middle = (bytes .> ByteMask.of("-")) .& (bytes .< ByteMask.of(";"))
        let quotes = (bytes .== ByteMask.of("\"")) .| (bytes .== ByteMask.of("'")) .| (bytes .== ByteMask.of("`"))
        let signs = (bytes .== ByteMask.of("=")) .| (bytes .== ByteMask.of("@")) .| (bytes .== ByteMask.of("\\"))
        let controls = (bytes .== ByteMask.of("\u{7F}")) .| (bytes .< ByteMask.of(" "))
        return middle .| quotes .| signs .| controls
    }

    @inline(__always)
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

    @inline(__always)
    static func isHexadecimal(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9 || (byte | 0x20) &- UInt8(ascii: "a") <= 5
    }

    /// Returns `true` for a letter, digit or underscore.
    @inline(__always)
    static func inWord(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") }

    /// Returns `true` for the first letters of `ShortWords.units`.
    @inline(__always)
    static func mayBeginUnit(_ byte: UInt8) -> Bool {
        let letters: UInt32 = 0b1100_1001_0100_1100_1011
        let index = (byte | 0x20) &- UInt8(ascii: "a")
        return index < 26 && letters >> UInt32(index) & 1 != 0
    }

    /// Returns `true` for the first letters of `ShortWords.truthValues`.
    @inline(__always)
    static func mayBeginTruthValue(_ byte: UInt8) -> Bool {
        switch byte | 0x20 {
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): true
        default: false
        }
    }

    /// Returns `true` if a value follows an equals sign after this byte.
    static func mayEndKey(_ byte: UInt8) -> Bool {
        inWord(byte) || byte == UInt8(ascii: ")") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "-")
    }

    /// Returns `true` if a slash after this byte begins a path.
    static func mayPrecedePath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "="), UInt8(ascii: ":"),
            UInt8(ascii: ","), UInt8(ascii: "~"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "{"),
            UInt8(ascii: "|"), UInt8(ascii: ";"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), 0x0A, 0x09:
            true
        default: false
        }
    }

    /// Returns `true` if a path may have this byte after its first slash, apart from letters and digits.
    static func mayBeginPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"), UInt8(ascii: "$"), UInt8(ascii: "%"): true
        default: false
        }
    }

    static func inPath(_ byte: UInt8) -> Bool {
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
        case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ";"): true
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

/// A list of words of at most eight bytes that have a meaning for a template.
///
/// A word is an integer with the last letter in the lowest byte. Letters are in lower case.
struct ShortWords: Sendable {
    private let words: [UInt64]
    /// A bit for each word, which rules out most other words.
    private let filter: UInt64

    private init(_ words: [String]) {
        self.words = words.map { $0.utf8.reduce(0) { $0 << 8 | UInt64($1) } }
        filter = self.words.reduce(0) { $0 | Self.bit($1) }
    }

    @inline(__always)
    private static func bit(_ word: UInt64) -> UInt64 { 1 << ((word &* 0x9E37_79B9_7F4A_7C15) >> 58) }

    @inline(__always)
    func contains(_ word: UInt64) -> Bool { filter & Self.bit(word) != 0 && words.contains(word) }

    /// The keys in `key=value` whose values are sentences or kinds of events.
    static let textKeys = ShortWords([
        "msg", "message", "err", "error", "event", "reason", "cause", "level", "lvl", "severity", "type", "op",
        "action", "method",
    ])
    static let truthValues = ShortWords(["true", "false", "null", "none", "nil"])
    /// Units after a number and a space that programs choose by the size of the number.
    static let units = ShortWords([
        "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "sec", "secs", "second", "seconds", "min", "mins",
        "minute", "minutes", "hour", "hours", "day", "days", "am", "pm",
    ])
    /// Words with digits in them that are names of techniques rather than data.
    static let terms = ShortWords([
        "utf8", "utf16", "ipv4", "ipv6", "x86", "x86_64", "amd64", "arm64", "aarch64", "i386", "i686", "sha1",
        "sha256", "sha512", "md5", "base64", "http2", "http3", "oauth2", "s3", "ec2", "k8s", "log4j", "p2p", "i2c",
        "utf-8", "utf-16", "sha-1", "sha-256", "sha-512", "h2",
    ])
    /// Endings of names of hosts and units that have one full stop only.
    static let domains = ShortWords([
        "com", "net", "org", "edu", "gov", "mil", "local", "lan", "internal", "service", "socket", "timer", "mount",
        "scope", "slice",
    ])
    static let months = ShortWords([
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "january", "february",
        "march", "april", "june", "july", "august", "october", "november", "december",
    ])
    /// Values that mean that there is none, or that it was removed.
    static let noValues = ShortWords([
        "null", "nil", "none", "true", "false", "empty", "unset", "missing", "redacted", "filtered", "masked", "hidden",
        "removed", "omitted", "yes", "no", "unknown", "undef",
    ])
    /// Words after a colon that continue a sentence, as in "password: must not be empty".
    static let sentenceWords = ShortWords([
        "a", "an", "the", "is", "was", "are", "were", "has", "had", "must", "not", "too", "can", "cannot", "should",
        "may", "for", "of", "in", "on", "at", "to", "from", "with", "and", "or", "it", "your", "this", "that", "field",
        "required", "invalid", "expired", "wrong", "denied", "failed", "rejected", "accepted", "changed", "updated",
        "reset", "ok", "please", "optional", "expected", "minimum", "maximum", "length", "does", "did", "only",
        "could", "no", "user", "users", "error", "mismatch", "contains", "rotated", "blocked", "revoked", "created",
        "deleted", "stored", "loaded", "found", "set", "sent", "used", "valid", "weak", "strong", "ignored", "refresh",
    ])
    /// Endings after an at sign that are not those of mailbox addresses.
    static let unitEndings = ShortWords([
        "service", "socket", "timer", "mount", "target", "slice", "scope", "path", "device", "swap", "png", "jpg",
        "jpeg",
        "gif", "svg", "webp",
    ])
    /// The schemes of an authorization header.
    static let authorizationSchemes = ShortWords([
        "basic", "bearer", "digest", "token", "apikey", "key", "hmac", "ntlm", "oauth", "hawk", "splunk",
    ])
    static let weekdays = ShortWords([
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "thursday", "friday", "saturday",
        "sunday",
    ])
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

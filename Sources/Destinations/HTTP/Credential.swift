import HTTPTransfer
package import IssueCore

/// The credential of a destination, which can be read again when it may have changed. Many destinations need none.
package struct Credential: Sendable {
    private let read: (@Sendable () -> ShippingToken?)?
    package private(set) var token: ShippingToken?

    /// - Parameter read: Reads the credential, or returns nil if it is missing. Pass nil if the destination needs none.
    package init(_ read: (@Sendable () -> ShippingToken?)?) {
        self.read = read
        token = read?()
    }

    /// `true` if a credential is needed but missing.
    package var isMissing: Bool { read != nil && token == nil }

    /// The result of sending without the required credential.
    package static var missing: DeliveryResult {
        DeliveryResult(.paused(.noCredential), ResponseSummary("the credential is missing"))
    }

    /// Reads the credential again, and returns `true` if it has changed.
    package mutating func reread() -> Bool {
        let old = token
        token = read?()
        return token != nil && token != old
    }
}

/// A credential of a destination. It never prints itself.
package struct ShippingToken: Hashable, Sendable {
    package static let maxBytes = 4096

    package let text: String

    /// Creates a token. Surrounding white space is removed, since a file usually ends with a line feed.
    ///
    /// - Returns: nil if the token is empty, too long, or contains white space or control characters.
    package init?(_ bytes: [UInt8]) {
        let trimmed = Array(bytes.drop(while: Self.isSpace).reversed().drop(while: Self.isSpace).reversed())
        guard !trimmed.isEmpty, trimmed.count <= Self.maxBytes, !trimmed.contains(where: { $0 <= 0x20 || $0 == 0x7F }),
            let text = String(validating: trimmed, as: UTF8.self)
        else { return nil }
        self.text = text
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension ShippingToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a shipping token" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Removes credentials from text that a destination or proxy sent.
///
/// A peer knows the credential and may repeat it: unchanged, as a part of `Basic` in Base64, percent-encoded in a URL,
/// escaped in JSON, or with one of these encodings inside another. The text is decoded in each of these ways. Every run
/// of at least `width` bytes that occurs in any form of the credential is removed, and so are parts of the credential.
/// Text after a keyword that introduces a credential is removed too, regardless of its value.
///
/// Takes time linear in the size of the text and the credentials.
struct TokenScrubber: Sendable {
    private static let mark = Array("[token]".utf8)
    /// Far more than is ever shown.
    private static let maxInputBytes = 16 << 10

    private let secrets: [ShippingToken]

    /// - Parameters:
    ///   - token: The credential of the destination.
    ///   - others: Further secrets, such as the password of a proxy.
    init(_ token: ShippingToken?, others: [ShippingToken] = []) {
        secrets = [token].compactMap(\.self) + others
    }

    /// Returns the text without any credential.
    ///
    /// Works on bytes, since a combining character could merge with the last character of the token.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - limit: The maximum size of the result, in bytes.
    func scrub(_ bytes: [UInt8], toBytes limit: Int) -> String {
        let text = Array(bytes.prefix(Self.maxInputBytes))
        let forms = SecretForms(secrets.map { Array($0.text.utf8) })
        var isCut = [Bool](repeating: false, count: text.count)
        for view in DecodedText.views(of: text) {
            forms.find(in: view, &isCut)
            Introductions.find(in: view, &isCut)
        }
        var output: [UInt8] = []
        for index in text.indices where output.count < limit {
            if !isCut[index] {
                output.append(text[index])
            } else if index == 0 || !isCut[index - 1] {
                output += Self.mark
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

/// A text with its escapes decoded, and the original index of each byte.
private struct DecodedText {
    var bytes: [UInt8]
    /// The index in the original text of each byte and of the end.
    var places: [Int]

    /// Returns the original text, and the text decoded once and twice from JSON and percent-encoding if that changes
    /// it.
    static func views(of text: [UInt8]) -> [DecodedText] {
        let original = DecodedText(bytes: text, places: Array(0...text.count))
        let once = [original.withoutJSONEscapes(), original.withoutPercentEncoding()].compactMap(\.self)
        let twice = once.flatMap { [$0.withoutJSONEscapes(), $0.withoutPercentEncoding()].compactMap(\.self) }
        return [original] + once + twice
    }

    func mark(_ range: Range<Int>, _ isCut: inout [Bool]) {
        for place in places[range.lowerBound]..<places[range.upperBound] { isCut[place] = true }
    }

    /// Returns nil if the text contains no percent-encoded byte.
    private func withoutPercentEncoding() -> DecodedText? {
        decoded(from: UInt8(ascii: "%")) { index in
            guard let byte = hexadecimal(index + 1, 2) else { return nil }
            return ([UInt8(byte)], index + 3)
        }
    }

    /// Returns nil if the text contains no JSON escape.
    private func withoutJSONEscapes() -> DecodedText? {
        decoded(from: UInt8(ascii: "\\")) { index in
            guard index + 1 < bytes.count else { return nil }
            switch bytes[index + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return ([bytes[index + 1]], index + 2)
            case UInt8(ascii: "n"), UInt8(ascii: "r"): return ([0x0A], index + 2)
            case UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "t"): return ([0x20], index + 2)
            case UInt8(ascii: "u"), UInt8(ascii: "U"):
                guard let unit = hexadecimal(index + 2, 4) else { return nil }
                if 0xD800..<0xDC00 ~= unit, index + 7 < bytes.count, bytes[index + 6] == UInt8(ascii: "\\"),
                    bytes[index + 7] | 0x20 == UInt8(ascii: "u"), let low = hexadecimal(index + 8, 4),
                    0xDC00..<0xE000 ~= low,
                    let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
                {
                    return (Array(String(scalar).utf8), index + 12)
                }
                return Unicode.Scalar(unit).map { (Array(String($0).utf8), index + 6) }
            default: return nil
            }
        }
    }

    /// Replaces every sequence that begins with `sign` and can be decoded. Returns nil if there is none.
    private func decoded(from sign: UInt8, _ decode: (Int) -> (bytes: [UInt8], end: Int)?) -> DecodedText? {
        var output = DecodedText(bytes: [], places: [])
        var hasChanged = false
        var index = 0
        while index < bytes.count {
            if bytes[index] == sign, let part = decode(index) {
                output.bytes += part.bytes
                output.places += repeatElement(places[index], count: part.bytes.count)
                index = part.end
                hasChanged = true
            } else {
                output.bytes.append(bytes[index])
                output.places.append(places[index])
                index += 1
            }
        }
        output.places.append(places[bytes.count])
        return hasChanged ? output : nil
    }

    private func hexadecimal(_ start: Int, _ count: Int) -> UInt32? {
        guard start + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[start..<start + count] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// The text in the standard Base64 alphabet, without line breaks.
    func forBase64() -> DecodedText {
        var output = DecodedText(bytes: [], places: [])
        for (index, byte) in bytes.enumerated() where byte != 0x0A && byte != 0x0D {
            output.bytes.append(Base64.standard(byte))
            output.places.append(places[index])
        }
        output.places.append(places[bytes.count])
        return output
    }
}

/// The forms in which a credential may occur: plain and in Base64.
private struct SecretForms {
    /// The minimum length of a match that cannot be a coincidence, in bytes.
    private static let width = 8
    /// A shorter sequence of Base64 digits may be part of any word.
    private static let minBase64Digits = 6

    /// All sequences of `width` bytes.
    private var plainRuns: Set<UInt64> = []
    private var base64Runs: Set<UInt64> = []
    /// Forms that are shorter than `width`.
    private var plainShort: [[UInt8]] = []
    private var base64Short: [[UInt8]] = []

    init(_ secrets: [[UInt8]]) {
        for secret in secrets {
            Self.add(secret, to: &plainRuns, &plainShort)
            // The credential may follow a user name of unknown length. Digits that depend on the name are omitted.
            for (before, dependent) in [(0, 0), (1, 2), (2, 3)] {
                let text = Base64.encode([UInt8](repeating: 0, count: before) + secret)
                let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }.dropFirst(dependent)
                if digits.count >= Self.minBase64Digits { Self.add(Array(digits), to: &base64Runs, &base64Short) }
            }
        }
    }

    private static func add(_ form: [UInt8], to runs: inout Set<UInt64>, _ short: inout [[UInt8]]) {
        guard form.count >= width else { return short.append(form) }
        var run: UInt64 = 0
        for (index, byte) in form.enumerated() {
            run = run << 8 | UInt64(byte)
            if index + 1 >= width { runs.insert(run) }
        }
    }

    /// Marks all complete and partial occurrences of a form.
    func find(in text: DecodedText, _ isCut: inout [Bool]) {
        Self.forEachMatch(of: plainRuns, plainShort, in: text.bytes) { text.mark($0, &isCut) }
        guard !base64Runs.isEmpty || !base64Short.isEmpty else { return }
        let text = text.forBase64()
        // The whole encoded text around a match belongs to the credential.
        var end = 0
        Self.forEachMatch(of: base64Runs, base64Short, in: text.bytes) { match in
            guard match.upperBound > end else { return }
            var start = match.lowerBound
            while start > end, Base64.isDigit(text.bytes[start - 1]) { start -= 1 }
            end = match.upperBound
            while end < text.bytes.count, Base64.isDigit(text.bytes[end]) { end += 1 }
            while end < text.bytes.count, text.bytes[end] == UInt8(ascii: "=") { end += 1 }
            text.mark(start..<end, &isCut)
        }
    }

    private static func forEachMatch(
        of runs: Set<UInt64>, _ short: [[UInt8]], in bytes: [UInt8], _ body: (Range<Int>) -> Void
    ) {
        var run: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            run = run << 8 | UInt64(byte)
            if index + 1 >= width, runs.contains(run) { body(index + 1 - width..<index + 1) }
            for form in short where bytes[...index].suffix(form.count).elementsEqual(form) {
                body(index + 1 - form.count..<index + 1)
            }
        }
    }
}

/// Finds credentials by the keywords that introduce them.
private enum Introductions {
    /// Names of headers and parameters. The value follows a colon or an equals sign.
    private static let names = ["authorization", "x-clickhouse-key", "token"].map { Array($0.utf8) }
    private static let token = Array("token".utf8)
    /// Authentication schemes. The credential follows a space.
    private static let schemes = ["basic", "bearer", "apikey"].map { Array($0.utf8) }

    static func find(in text: DecodedText, _ isCut: inout [Bool]) {
        let bytes = text.bytes
        var index = 0
        while index < bytes.count {
            guard let value = value(in: bytes, at: index) else {
                index += 1
                continue
            }
            text.mark(value, &isCut)
            index = value.upperBound
        }
    }

    /// Returns the range of the value that a keyword at an index introduces; nil if there is none.
    private static func value(in bytes: [UInt8], at index: Int) -> Range<Int>? {
        if let name = names.first(where: { stands($0, in: bytes, at: index) }) {
            var start = index + name.count
            let isQuoted = start < bytes.count && isQuote(bytes[start])
            start = pass(bytes, from: start) { isQuote($0) || isSpace($0) }
            guard start < bytes.count, bytes[start] == UInt8(ascii: "=") || bytes[start] == UInt8(ascii: ":") else {
                return nil
            }
            // "invalid token: expired" is a sentence, not a parameter.
            if name == token, bytes[start] == UInt8(ascii: ":"), !isQuoted { return nil }
            start = pass(bytes, from: start + 1) { isQuote($0) || isSpace($0) }
            // The value of a header extends to the end of its line.
            let end = pass(bytes, from: start) { name == token ? !endsToken($0) : !endsHeader($0) }
            return end > start ? start..<end : nil
        }
        guard index == 0 || !isWord(bytes[index - 1]),
            let scheme = schemes.first(where: { stands($0, in: bytes, at: index) })
        else { return nil }
        let space = index + scheme.count
        let start = pass(bytes, from: space) { isSpace($0) || $0 == UInt8(ascii: "+") }
        let end = pass(bytes, from: start) { !endsToken($0) }
        return start > space && end > start ? start..<end : nil
    }

    private static func stands(_ word: [UInt8], in bytes: [UInt8], at index: Int) -> Bool {
        guard index + word.count <= bytes.count else { return false }
        for (offset, letter) in word.enumerated() {
            let byte = bytes[index + offset]
            guard byte == letter || (0x41...0x5A).contains(byte) && byte | 0x20 == letter else { return false }
        }
        return true
    }

    private static func pass(_ bytes: [UInt8], from start: Int, while holds: (UInt8) -> Bool) -> Int {
        var index = start
        while index < bytes.count, holds(bytes[index]) { index += 1 }
        return index
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\")
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    private static func endsHeader(_ byte: UInt8) -> Bool {
        byte < 0x20 || isQuote(byte) || byte == UInt8(ascii: "<")
    }

    private static func endsToken(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "<") || isQuote(byte)
    }
}

/// Base64 encoding (RFC 4648, section 4).
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the bytes in Base64, with padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let part = bytes[start..<min(start + 3, bytes.count)]
            let word = part.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - part.count))
            for place in 0..<4 {
                output.append(place <= part.count ? digits[word >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension Base64 {
    /// Returns `true` if a byte is a digit of the standard alphabet.
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// Returns the digit of the standard alphabet for a digit of the URL alphabet (RFC 4648, section 5). Other bytes
    /// are returned unchanged.
    static func standard(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: byte
        }
    }
}

/// Percent-encoding for the query of a URL.
package enum PercentEncoding {
    /// Encodes all characters except those that are unreserved everywhere. A plus sign would be decoded as a space.
    package static func encode(_ text: String, uppercase: Bool = true) -> String {
        let digits = Array((uppercase ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                output.append(byte)
            } else {
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// Takes the token out of what a stranger wrote, who may have been told it in the URL.
struct TokenScrubber: Sendable {
    private static let mark = Array("[token]".utf8)
    private static let parameter = Array("token=".utf8)

    /// The token in the forms in which it may come back.
    private let forms: [[UInt8]]

    init(_ token: ShippingToken?) {
        guard let token else {
            forms = []
            return
        }
        let encoded = PercentEncoding.encode(token.text)
        let written: [String] = [token.text, encoded, PercentEncoding.encode(token.text, uppercase: false)]
        var forms: [[UInt8]] = []
        for form in written.map({ Array($0.utf8) }) where !forms.contains(form) { forms.append(form) }
        // The longest first, or what is left of it would stay.
        self.forms = forms.sorted { $0.count > $1.count }
    }

    /// The text without the token, and without whatever else stands where a token stands in a URL.
    ///
    /// - Parameter limit: Where to stop, for what is only shown in part.
    /// - Note: Compares bytes, as a character may hide the token's end in itself.
    func scrub(_ bytes: [UInt8], toBytes limit: Int) -> String {
        var output: [UInt8] = []
        var index = 0
        while index < bytes.count, output.count < limit {
            if let form = forms.first(where: { Self.stands($0, in: bytes, at: index) }) {
                output += Self.mark
                index += form.count
            } else if Self.stands(Self.parameter, in: bytes, at: index, ignoringCase: true) {
                output += Self.parameter + Self.mark
                index += Self.parameter.count
                while index < bytes.count, !Self.endsValue(bytes[index]) { index += 1 }
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func stands(
        _ pattern: [UInt8], in bytes: [UInt8], at index: Int, ignoringCase: Bool = false
    ) -> Bool {
        guard index + pattern.count <= bytes.count else { return false }
        return pattern.indices.allSatisfy { offset in
            let byte = bytes[index + offset]
            return byte == pattern[offset] || (ignoringCase && byte | 0x20 == pattern[offset])
        }
    }

    private static func endsValue(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "<")
    }
}

/// What a destination answered, in words for people; never its address, which may hold the token.
package struct AnswerSummary: Hashable, Sendable, CustomStringConvertible {
    package static let mostCharacters = 300

    package let text: String

    /// - Note: Control characters of a foreign answer have no business in a terminal or a log.
    package init(_ text: String) {
        let printable = text.unicodeScalars.lazy.map { scalar in
            scalar.properties.generalCategory == .control ? " " : Character(scalar)
        }
        self.text = String(String(printable.prefix(Self.mostCharacters * 4)).prefix(Self.mostCharacters))
    }

    package var description: String { text }

    /// Returns the HTTP status code with which a summary of an answer begins, or nil when no answer came.
    package static func statusCode(of summary: String) -> String? {
        let digits = summary.utf8.prefix { (0x30...0x39).contains($0) }
        return digits.count == 3 ? String(decoding: Array(digits), as: UTF8.self) : nil
    }
}

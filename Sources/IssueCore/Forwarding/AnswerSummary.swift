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
}

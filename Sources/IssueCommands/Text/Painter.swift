/// Puts colours onto texts, or leaves them alone where colours are not wanted.
struct Painter: Sendable {
    var isColored: Bool

    func callAsFunction(_ text: String, _ style: Style) -> String {
        guard isColored, !text.isEmpty, let parameters = style.parameters else { return text }
        return "\u{1B}[\(parameters)m\(text)\u{1B}[0m"
    }
}

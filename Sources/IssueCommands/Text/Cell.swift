import IssueProtocol

/// One field of a table, already harmless.
struct Cell: Equatable, Sendable {
    var text: String
    var style: Style

    /// A text of ours or of a stranger; it is made harmless here, so that none can be forgotten.
    init(_ text: String, style: Style = .plain) {
        self.text = HarmlessText.line(text)
        self.style = style
    }
}

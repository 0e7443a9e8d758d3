import IssueProtocol

/// What a source or an application says, its texts counted from where the object begins.
struct ObjectFields: Sendable {
    var texts = InlineArray<5, JSONText>(repeating: Self.noText)
    var integers = InlineArray<2, Int64>(repeating: 0)
    var flags: SeriesKey.Flags = []

    /// A text stands behind its quotation mark, so none begins at 0.
    static let noText = JSONText(start: 0, end: 0, hasEscapes: false)

    init() {}
}

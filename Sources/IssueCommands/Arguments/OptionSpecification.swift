/// One option of the command line: how it is written, and what help says of it.
package struct OptionSpecification: Hashable, Sendable {
    package var name: String
    package var short: Character?
    /// What stands for its value in help; nothing for an option without one.
    package var placeholder: String?
    package var summary: String

    package init(_ name: String, short: Character? = nil, value placeholder: String? = nil, _ summary: String) {
        self.name = name
        self.short = short
        self.placeholder = placeholder
        self.summary = summary
    }

    /// As help and messages write it.
    var spelling: String { "--\(name)" }
}

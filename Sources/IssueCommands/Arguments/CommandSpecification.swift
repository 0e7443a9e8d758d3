/// All that the parser and help need to know of a command.
package struct CommandSpecification: Sendable {
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    package var operands: OperandRule
    /// The options under their headings, in the order in which help shows them.
    package var sections: [Section]
    /// Sentences below the options.
    package var notes: [String]
    package var examples: [String]

    /// Options that belong together.
    package struct Section: Sendable {
        package var title: String
        package var options: [OptionSpecification]

        package init(_ title: String, _ options: [OptionSpecification]) {
            self.title = title
            self.options = options
        }
    }

    package init(
        _ name: String, _ summary: String, operands: OperandRule = .none, sections: [Section] = [],
        notes: [String] = [], examples: [String] = []
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.sections = sections
        self.notes = notes
        self.examples = examples
    }

    var options: [OptionSpecification] { sections.flatMap(\.options) }
}

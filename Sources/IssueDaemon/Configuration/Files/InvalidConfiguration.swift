/// All that is wrong in a configuration: whoever mends it wants to do so once.
package struct InvalidConfiguration: Error, Hashable, Sendable, CustomStringConvertible {
    /// File by file, and from top to bottom in each.
    package var problems: [ConfigurationProblem]

    package init(_ problems: [ConfigurationProblem]) {
        self.problems = problems
    }

    package var description: String {
        problems.map { "\($0)" }.joined(separator: "\n")
    }
}

/// What is wrong with a command line, in one sentence without a full stop.
package struct UsageError: Error, Equatable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }

    /// A value that an option can't have, with what it can have.
    init(_ value: String, of option: OptionSpecification, expected: String) {
        message = "'\(value)' is no value for \(option.spelling): expected \(expected)"
    }

    /// A value that is none of an option's words, with the nearest of them.
    init(_ value: String, of option: OptionSpecification, words: [String]) {
        self.init(value, of: option, expected: words.joined(separator: ", "))
        message += NearestName.suggestion(for: value, among: words)
    }
}

import IssueProtocol
package import UnixIO

/// Parses command lines with options in the forms `--name value`, `--name=value`, `-x value`, `-xvalue` and `-ab`. `--`
/// ends the options.
package struct ArgumentParser {
    private let options: [OptionSpecification]

    package init(_ options: [OptionSpecification]) {
        self.options = options
    }

    /// Parses the options before the first operand or `--`. Returns them, and the number of words that they and their
    /// values take.
    func parseLeading(_ words: [String]) throws(UsageError) -> (arguments: ParsedArguments, count: Int) {
        var arguments = ParsedArguments()
        var rest = words[...]
        while let word = rest.first, Self.isOption(word) { try parseOption(&rest, into: &arguments) }
        return (arguments, words.count - rest.count)
    }

    /// Parses a whole command line.
    package func parse(_ words: some Sequence<String>) throws(UsageError) -> ParsedArguments {
        var arguments = ParsedArguments()
        var rest = Array(words)[...]
        while let word = rest.first {
            if Self.isOption(word) {
                try parseOption(&rest, into: &arguments)
                continue
            }
            rest.removeFirst()
            if word == "--" {
                for operand in rest { arguments.add(operand: operand) }
                break
            }
            arguments.add(operand: word)
        }
        return arguments
    }

    /// Returns `true` for an option. `-` is an operand, and `--` ends the options.
    private static func isOption(_ word: String) -> Bool {
        word.hasPrefix("-") && word != "-" && word != "--"
    }

    private func parseOption(_ rest: inout ArraySlice<String>, into arguments: inout ParsedArguments) throws(UsageError)
    {
        let word = rest.removeFirst()
        if word.hasPrefix("--") {
            try parseLong(word, &rest, into: &arguments)
        } else {
            try parseShort(word, &rest, into: &arguments)
        }
    }

    private func parseLong(
        _ word: String, _ rest: inout ArraySlice<String>, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        let equals = word.firstIndex(of: "=")
        let spelling = String(word[..<(equals ?? word.endIndex)])
        guard let option = options.first(where: { $0.spelling == spelling }) else {
            let nearest = NearestName.suggestion(for: spelling, among: options.map(\.spelling))
            throw UsageError("unknown option \(spelling)\(nearest)")
        }
        let attached = equals.map { String(word[word.index(after: $0)...]) }
        guard option.placeholder != nil else {
            guard attached == nil else { throw UsageError("\(spelling) takes no value") }
            return arguments.add(option, value: "")
        }
        guard let attached else {
            return arguments.add(option, value: try nextWord(in: &rest, as: option, spelling))
        }
        arguments.add(option, value: attached)
    }

    private func parseShort(
        _ word: String, _ rest: inout ArraySlice<String>, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else {
                // `-severity` is a typo for `--severity`, not eight options.
                guard word.count > 2 else {
                    let initials = options.filter { $0.name.first == letter }
                    let hint = initials.count == 1 ? " (did you mean \(initials[0].spelling)?)" : ""
                    throw UsageError("unknown option -\(letter)\(hint)")
                }
                let nearest = NearestName.suggestion(for: "-" + word, among: options.map(\.spelling))
                throw UsageError("unknown option -\(letter)\(nearest)")
            }
            guard option.placeholder != nil else {
                arguments.add(option, value: "")
                continue
            }
            guard letters.isEmpty else { return arguments.add(option, value: String(letters)) }
            return arguments.add(option, value: try nextWord(in: &rest, as: option, "-\(letter)"))
        }
    }

    private func nextWord(
        in rest: inout ArraySlice<String>, as option: OptionSpecification, _ spelling: String
    ) throws(UsageError) -> String {
        guard let word = rest.popFirst() else {
            throw UsageError("\(spelling) requires a value: \(spelling) \(option.placeholder ?? "VALUE")")
        }
        return word
    }
}

/// A parsed command line.
package struct ParsedArguments: Equatable, Sendable {
    package private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    mutating func add(operand: String) {
        operands.append(operand)
    }

    mutating func add(_ option: OptionSpecification, value: String) {
        values[option.name, default: []].append(value)
    }

    /// Returns `true` if an option was given.
    package func has(_ option: OptionSpecification) -> Bool {
        values[option.name] != nil
    }

    /// Returns the action that the first operand names, or the default if there are no operands.
    func action<Action: RawRepresentable<String> & CaseIterable>(default action: Action) throws(UsageError) -> Action {
        guard let word = operands.first else { return action }
        return try Self.action(word)
    }

    /// Returns the action that a word names.
    ///
    /// - Parameter prefix: The text before the word in the error message.
    static func action<Action: RawRepresentable<String> & CaseIterable>(
        _ word: String, after prefix: String = ""
    ) throws(UsageError) -> Action {
        guard let named = Action(rawValue: word) else {
            let names = Action.allCases.map(\.rawValue)
            throw UsageError("unknown action '\(prefix)\(word)'; expected one of: \(names.joined(separator: ", "))")
        }
        return named
    }

    /// The value of an option; nil if it was not given. If it was given more than once, the last value counts, so that
    /// scripts can append options.
    package subscript(_ option: OptionSpecification) -> String? {
        values[option.name]?.last
    }

    /// Returns the value of an option; nil if it was not given. Throws if it was given more than once.
    func single(_ option: OptionSpecification) throws(UsageError) -> String? {
        if let values = all(option), values.count > 1 {
            throw UsageError("\(option.spelling) can be given only once")
        }
        return self[option]
    }

    /// Returns all values of a repeatable option; nil if it was not given.
    package func all(_ option: OptionSpecification) -> [String]? {
        values[option.name]
    }

    /// Returns the value of an option as an integer within bounds; nil if it was not given. Like the functions below,
    /// throws if the value is invalid.
    func integer(
        _ option: OptionSpecification, in bounds: ClosedRange<Int64> = 0...Int64.max
    ) throws(UsageError) -> Int64? {
        try value(of: option, expected: Self.wholeNumber(in: bounds, insteadOf: self[option] ?? "")) { text in
            Int64(text).flatMap { bounds.contains($0) ? $0 : nil }
        }
    }

    /// Returns a description of the valid numbers, for the error about the invalid value `text`. An upper bound of
    /// `Int64.max` is left out, and with it a lower bound of `Int64.min`, unless `text` is a number that does not fit
    /// into `Int64`.
    static func wholeNumber(in bounds: ClosedRange<Int64>, insteadOf text: String) -> String {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let isTooLarge = Int64(text) == nil && !digits.isEmpty && digits.allSatisfy { ("0"..."9").contains($0) }
        let limits =
            switch (bounds.lowerBound, bounds.upperBound) {
            case (.min, .max) where !isTooLarge: ""
            case (let lowest, .max) where !isTooLarge: " of at least \(lowest)"
            case (let lowest, let highest): " from \(lowest) to \(highest)"
            }
        return "a whole number\(limits)"
    }

    /// Returns the value of an option as a time span; nil if it was not given.
    func duration(_ option: OptionSpecification) throws(UsageError) -> Duration? {
        try value(of: option, expected: DurationExpression.forms, DurationExpression.duration)
    }

    /// Returns the value of an option that accepts a few keywords; nil if it was not given.
    ///
    /// - Parameter choices: The valid values; nil for all values of the type.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: OptionSpecification, among choices: [Choice]? = nil
    ) throws(UsageError) -> Choice? {
        let choices = choices ?? Array(Choice.allCases)
        return try value(of: option, expected: nil, words: choices.map(\.rawValue)) { word in
            choices.first { $0.rawValue == word }
        }
    }

    /// Returns the value of an option; nil if it was not given.
    ///
    /// - Parameters:
    ///   - option: The option. The last value counts.
    ///   - expected: A description of valid values; nil if only `words` are valid.
    ///   - words: The keywords among the valid values.
    ///   - make: Converts the text. Returns nil if it is invalid.
    func value<Value>(
        of option: OptionSpecification, expected: String?, words: [String] = [], _ make: (String) -> Value?
    ) throws(UsageError) -> Value? {
        try self[option].map { text throws(UsageError) in
            guard let value = make(text) else {
                throw UsageError(text, of: option, expected: expected, words: words)
            }
            return value
        }
    }

    /// Returns all values of a repeatable option; nil if it was not given. The parameters are those of `value(of:)`.
    func values<Value>(
        of option: OptionSpecification, expected: String?, words: [String] = [], _ make: (String) -> Value?
    ) throws(UsageError) -> [Value]? {
        try all(option)?.map { text throws(UsageError) in
            guard let value = make(text) else {
                throw UsageError(text, of: option, expected: expected, words: words)
            }
            return value
        }
    }
}

extension UsageError {
    /// Creates the error for an invalid value. It describes the valid values with `expected` or, if that is nil, with
    /// the keywords.
    init(_ value: String, of option: OptionSpecification, expected: String?, words: [String] = []) {
        let expected = expected ?? "one of: \(words.joined(separator: ", "))"
        let nearest = NearestName.suggestion(for: value, among: words)
        self.init("invalid value '\(value)' for \(option.spelling); expected \(expected)\(nearest)")
    }
}

extension NearestName {
    /// Returns ` (did you mean X?)`, or an empty string if no name is similar.
    static func suggestion(for word: String, among names: [String]) -> String {
        find(word, among: names).map { " (did you mean \($0)?)" } ?? ""
    }
}

import IssueProtocol

/// Takes a command line apart: `--name value`, `--name=value`, `-x value`, `-xvalue`, `-ab`, `--`.
package struct ArgumentParser {
    private let options: [OptionSpecification]

    package init(_ options: [OptionSpecification]) {
        self.options = options
    }

    /// Takes apart what comes before the first word without a dash, and answers how much that was.
    func parseLeading(_ words: [String]) throws(UsageError) -> (arguments: ParsedArguments, count: Int) {
        var arguments = ParsedArguments()
        var index = 0
        while index < words.count, Self.isOption(words[index]) {
            try parse(words, at: &index, into: &arguments)
        }
        return (arguments, index)
    }

    /// Takes all of the words apart, into arguments that may hold something already.
    package func parse(_ words: [String], into arguments: inout ParsedArguments) throws(UsageError) {
        var index = 0
        while index < words.count {
            if words[index] == "--" {
                for operand in words[(index + 1)...] { arguments.add(operand: operand) }
                return
            }
            if Self.isOption(words[index]) {
                try parse(words, at: &index, into: &arguments)
            } else {
                arguments.add(operand: words[index])
                index += 1
            }
        }
    }

    /// A single dash is an operand, by old custom.
    private static func isOption(_ word: String) -> Bool {
        word.hasPrefix("-") && word != "-" && word != "--"
    }

    private func parse(
        _ words: [String], at index: inout Int, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        let word = words[index]
        index += 1
        if word.hasPrefix("--") {
            try parseLong(word, words, at: &index, into: &arguments)
        } else {
            try parseShort(word, words, at: &index, into: &arguments)
        }
    }

    private func parseLong(
        _ word: String, _ words: [String], at index: inout Int, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        let equals = word.firstIndex(of: "=")
        let spelling = String(word[..<(equals ?? word.endIndex)])
        guard let option = options.first(where: { $0.spelling == spelling }) else {
            let nearest = NearestName.suggestion(for: spelling, among: options.map(\.spelling))
            throw UsageError("there is no option \(spelling)\(nearest)")
        }
        let attached = equals.map { String(word[word.index(after: $0)...]) }
        guard option.placeholder != nil else {
            guard attached == nil else { throw UsageError("\(spelling) takes no value") }
            return arguments.add(option, value: "")
        }
        guard let attached else {
            return arguments.add(option, value: try value(of: option, spelling, words, at: &index))
        }
        arguments.add(option, value: attached)
    }

    private func parseShort(
        _ word: String, _ words: [String], at index: inout Int, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else {
                // `-severity` is a slip for `--severity`, not eight options.
                let spellings = word.count > 2 ? options.map(\.spelling) : []
                let nearest = NearestName.suggestion(for: "-" + word, among: spellings)
                throw UsageError("there is no option -\(letter)\(nearest)")
            }
            guard option.placeholder != nil else {
                arguments.add(option, value: "")
                continue
            }
            guard rest.isEmpty else { return arguments.add(option, value: String(rest)) }
            return arguments.add(option, value: try value(of: option, "-\(letter)", words, at: &index))
        }
    }

    private func value(
        of option: OptionSpecification, _ spelling: String, _ words: [String], at index: inout Int
    ) throws(UsageError) -> String {
        guard index < words.count else {
            throw UsageError("\(spelling) needs a value: \(spelling) \(option.placeholder ?? "VALUE")")
        }
        defer { index += 1 }
        return words[index]
    }
}

/// A command line, taken apart.
package struct ParsedArguments: Equatable, Sendable {
    package private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    package init() {}

    mutating func add(operand: String) {
        operands.append(operand)
    }

    mutating func add(_ option: OptionSpecification, value: String) {
        values[option.name, default: []].append(value)
    }

    package func has(_ option: OptionSpecification) -> Bool {
        values[option.name] != nil
    }

    /// The value of an option; the last one counts, as scripts that append their own expect.
    package subscript(_ option: OptionSpecification) -> String? {
        values[option.name]?.last
    }

    /// All values of an option that may be repeated.
    package func all(_ option: OptionSpecification) -> [String]? {
        values[option.name]
    }

    /// A whole number within bounds.
    func integer(
        _ option: OptionSpecification, in bounds: ClosedRange<Int64> = 0...Int64.max
    ) throws(UsageError) -> Int64? {
        guard let text = self[option] else { return nil }
        guard let number = Int64(text), bounds.contains(number) else {
            let limits = bounds.upperBound == .max ? "from \(bounds.lowerBound) on" : "in \(bounds)"
            throw UsageError(text, of: option, expected: "a whole number \(limits)")
        }
        return number
    }

    /// One of a few words.
    func choice<Choice>(
        _ option: OptionSpecification, among words: [String], _ make: (String) -> Choice?
    ) throws(UsageError) -> Choice? {
        guard let text = self[option] else { return nil }
        guard let choice = make(text) else { throw UsageError(text, of: option, words: words) }
        return choice
    }
}

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

/// Finds what somebody probably meant.
package enum NearestName {
    /// ` (did you mean X?)`, or nothing when no name is near.
    static func suggestion(for word: String, among names: [String]) -> String {
        find(word, among: names).map { " (did you mean \($0)?)" } ?? ""
    }

    /// The name that the fewest slips of the finger turn into the word.
    package static func find(_ word: String, among names: [String]) -> String? {
        // Nobody mistypes a name at this length, and the comparison costs the square of it.
        guard word.count <= 64 else { return nil }
        let word = word.lowercased()
        let bare = word.drop { $0 == "-" }
        guard !bare.isEmpty else { return nil }
        let rated = names.map { name in (name: name, distance: EditDistance.between(word, name.lowercased())) }
        guard let best = rated.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= max(1, bare.count / 3) { return best.name }
        // Somebody who writes the start of a name, or more than the name, means it.
        guard bare.count >= 2 else { return nil }
        return names.first { $0.drop { $0 == "-" }.lowercased().hasPrefix(bare) }
    }
}

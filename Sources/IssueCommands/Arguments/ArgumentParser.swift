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

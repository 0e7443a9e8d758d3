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

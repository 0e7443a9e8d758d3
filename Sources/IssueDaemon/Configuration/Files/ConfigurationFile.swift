/// The sections of one configuration file, in the grammar of systemd.syntax(7).
///
/// It knows nothing of which sections and keys there are.
package struct ConfigurationFile: Hashable, Sendable {
    /// `Key=Value` on a line, or on several that a backslash joins.
    package struct Assignment: Hashable, Sendable {
        package var key: String
        /// Empty takes the default back.
        package var value: String
        package var line: Int
    }

    /// `[Kind]` or `[Kind Name]`, and what stands below it.
    package struct Section: Hashable, Sendable {
        package var kind: String
        package var name: String?
        package var line: Int
        package var assignments: [Assignment] = []
    }

    /// A configuration that is longer than this is none.
    package static let sizeLimit = 1 << 20

    package let path: String
    package private(set) var sections: [Section] = []
    package private(set) var problems: [ConfigurationProblem] = []
    /// The index of the section that each problem lies in; nil if that is unknown.
    private(set) var problemSections: [Int?] = []
    /// `true` below a header that can't be read. The keys there belong to an
    /// unknown section, so they must not be added to the one before it.
    private var isInUnknownSection = false

    package init(path: String, content: [UInt8]) {
        self.path = path
        for line in ConfigurationLine.lines(of: content) {
            guard let text = line.text else {
                // It may have been a header.
                isInUnknownSection = true
                complain(line.number, "The line is not text in UTF-8.")
                continue
            }
            take(text, line: line.number)
        }
    }

    private mutating func take(_ text: String, line: Int) {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" }) else {
            if text.hasPrefix("[") { isInUnknownSection = true }
            return complain(line, "The line has a control character in it.")
        }
        if text.hasPrefix("[") {
            takeHeader(text, line: line)
        } else if let equals = text.firstIndex(of: "=") {
            let key = String(text[..<equals].trimmingBlanks)
            let value = String(text[text.index(after: equals)...].trimmingBlanks)
            guard !key.isEmpty else {
                return complain(line, "There is no key before the “=”; expected Key=Value.")
            }
            guard !isInUnknownSection else { return }
            guard !sections.isEmpty else {
                return complain(line, "A key stands before the first section; expected a [Section] above it.")
            }
            sections[sections.count - 1].assignments.append(Assignment(key: key, value: value, line: line))
        } else {
            // The line is not repeated: it may be a secret that was pasted.
            complain(line, "Expected [Section], Key=Value or a comment.")
        }
    }

    private mutating func takeHeader(_ text: String, line: Int) {
        isInUnknownSection = true
        guard text.last == "]" else {
            return complain(line, "Expected a “]” at the end of the section's name.")
        }
        let words = text.dropFirst().dropLast().split(whereSeparator: \.isBlank)
        guard let kind = words.first, words.count <= 2 else {
            return complain(line, "Expected [Section] or [Section NAME], with a name without blanks.")
        }
        let name = words.dropFirst().first.map { String($0) }
        isInUnknownSection = false
        sections.append(Section(kind: String(kind), name: name, line: line))
    }

    private mutating func complain(_ line: Int, _ sentence: String) {
        problems.append(ConfigurationProblem(at: ConfigurationPlace(file: path, line: line), sentence))
        problemSections.append(isInUnknownSection || sections.isEmpty ? nil : sections.count - 1)
    }
}

extension Character {
    var isBlank: Bool { self == " " || self == "\t" }
}

extension StringProtocol {
    /// Without the spaces and tabs around it.
    var trimmingBlanks: SubSequence {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}

import IssueProtocol

/// The sections of one configuration file, in the syntax of systemd.syntax(7).
///
/// This type does not know which sections and keys are valid.
package struct ConfigurationFile: Hashable, Sendable {
    /// `Key=Value`, on one line or on several that are joined by backslashes.
    package struct Assignment: Hashable, Sendable {
        package var key: String
        /// An empty value resets the key to its default.
        package var value: String
        /// The number of the first line, counted from 1.
        package var line: Int
    }

    /// `[Kind]` or `[Kind Name]` and the assignments below it.
    package struct Section: Hashable, Sendable {
        package var kind: String
        package var name: String?
        /// The number of the header's line, counted from 1.
        package var line: Int
        package var assignments: [Assignment] = []
    }

    /// The maximum size of a configuration file in bytes.
    package static let sizeLimit = 1 << 20

    package let path: String
    package private(set) var sections: [Section] = []
    package private(set) var problems: [ConfigurationProblem] = []
    /// For each element of `problems`, the index of the section that contains the error; nil if the section is unknown
    /// or the error is before the first section.
    private(set) var problemSections: [Int?] = []
    /// Whether the current section is unknown, because a line that is or may be its header can't be read. The keys
    /// below that line must not be added to the previous section.
    private var isInUnknownSection = false

    /// Parses the content of a file.
    ///
    /// - Parameters:
    ///   - path: The path for error messages. The file is not read.
    ///   - content: The content of the file.
    package init(path: String, content: [UInt8]) {
        self.path = path
        for line in ConfigurationLine.lines(of: content) {
            guard let text = line.text else {
                // It may have been a header.
                isInUnknownSection = true
                addProblem(line.number, "The line is not valid UTF-8.")
                continue
            }
            parseLine(text, line: line.number)
        }
    }

    private mutating func parseLine(_ text: String, line: Int) {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" }) else {
            if text.hasPrefix("[") { isInUnknownSection = true }
            return addProblem(line, "The line contains a control character.")
        }
        if text.hasPrefix("[") {
            parseHeader(text, line: line)
        } else if let equals = text.firstIndex(of: "=") {
            let key = String(text[..<equals].trimmingBlanks)
            let value = String(text[text.index(after: equals)...].trimmingBlanks)
            guard !key.isEmpty else {
                return addProblem(line, "The key before “=” is missing; expected Key=Value.")
            }
            guard !isInUnknownSection else { return }
            guard !sections.isEmpty else {
                return addProblem(line, "The key is before the first section; expected a [Section] above it.")
            }
            sections[sections.count - 1].assignments.append(Assignment(key: key, value: value, line: line))
        } else {
            // The line is not repeated, because it may be a secret that was pasted.
            addProblem(line, "Expected [Section], Key=Value or a comment.")
        }
    }

    private mutating func parseHeader(_ text: String, line: Int) {
        isInUnknownSection = true
        guard text.last == "]" else {
            return addProblem(line, "Expected “]” at the end of the section header.")
        }
        let words = text.dropFirst().dropLast().split(whereSeparator: \.isBlank)
        guard let kind = words.first, words.count <= 2 else {
            return addProblem(line, "Expected [Section] or [Section NAME], with a name without blanks.")
        }
        let name = words.dropFirst().first.map { String($0) }
        isInUnknownSection = false
        sections.append(Section(kind: String(kind), name: name, line: line))
    }

    private mutating func addProblem(_ line: Int, _ message: String) {
        problems.append(ConfigurationProblem(at: ConfigurationLocation(file: path, line: line), message))
        problemSections.append(isInUnknownSection || sections.isEmpty ? nil : sections.count - 1)
    }
}

extension Character {
    var isBlank: Bool { self == " " || self == "\t" }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    var trimmingBlanks: SubSequence {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}

/// A logical line, without comments and joined with the lines that continue it.
struct ConfigurationLine: Equatable {
    /// The number of the first joined line, counted from 1.
    var number: Int
    /// The text without surrounding blanks; nil if it is not UTF-8.
    var text: String?

    /// Splits the content of a file. A byte order mark, comments and blank lines are left out.
    static func lines(of content: [UInt8]) -> [ConfigurationLine] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let content = content.starts(with: mark) ? content.dropFirst(mark.count) : content[...]
        var lines: [ConfigurationLine] = []
        var joined: [UInt8] = []
        var start: Int?

        func finish() {
            guard let number = start else { return }
            let bytes = trimmed(joined[...])
            if !bytes.isEmpty {
                lines.append(ConfigurationLine(number: number, text: String(validating: bytes, as: UTF8.self)))
            }
            joined = []
            start = nil
        }

        var number = 0
        for line in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            var line = trimmed(line)
            // A comment neither ends a continued line nor can be continued.
            if let first = line.first, first == UInt8(ascii: "#") || first == UInt8(ascii: ";") { continue }
            let continues = line.reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
            if continues { line = line.dropLast() }
            if start == nil { start = number }
            joined += line
            if continues {
                joined.append(UInt8(ascii: " "))
            } else {
                finish()
            }
        }
        finish()
        return lines
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
        }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return bytes[first...last]
    }
}

/// A line of a configuration file, or a file or folder as a whole.
package struct ConfigurationLocation: Hashable, Sendable, CustomStringConvertible {
    package var file: String
    /// Counted from 1; nil for the whole file or folder.
    package var line: Int?

    package var description: String { line.map { "\(file):\($0)" } ?? file }
}

/// An error in a configuration file, its location and what it affects.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The part of the configuration that can't be trusted because of the error.
    package enum Scope: Hashable, Sendable {
        /// Unknown, for example because a whole file can't be read.
        case everything
        case section(ConfigurationSection)
        /// One destination, by its name.
        case destination(String)
        /// The credential of one destination, but not the rest of the destination's section.
        case credential(String)
        /// One notifier, by its name.
        case notifier(String)

        /// Whether the error may affect more than one destination or notifier.
        var isGeneral: Bool {
            switch self {
            case .everything, .section: true
            case .destination, .credential, .notifier: false
            }
        }

        var isCredential: Bool { if case .credential = self { true } else { false } }
    }

    package var location: ConfigurationLocation
    package var message: String
    package var scope: Scope

    package init(at location: ConfigurationLocation, _ message: String, scope: Scope = .everything) {
        self.location = location
        self.message = message
        self.scope = scope
    }

    package var description: String { "\(location): \(message)" }
}

/// All errors in a configuration, so that the operator can fix them in one pass.
package struct InvalidConfiguration: Error, Hashable, Sendable, CustomStringConvertible {
    /// In the order of the files, and by line within a file.
    package var problems: [ConfigurationProblem]

    package var description: String { problems.map { "\($0)" }.joined(separator: "\n") }
}

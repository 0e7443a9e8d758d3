package import IssueProtocol

/// Reduces messages and metadata to what helps to find a fault: constant text, keys and types.
///
/// All rules of redaction apply, even if they are switched off. Then the values that the template recognises are
/// replaced, such as numbers, paths, addresses and quoted text. Finally, each word that also occurs in the metadata of
/// the record is replaced. A name that occurs only in the text of a message cannot be told from constant text, and
/// remains.
package struct Anonymizer: Sendable {
    private var redactor: Redactor
    private let limits = RecordLimits()

    /// The minimum number of characters of a word in metadata that is replaced in messages.
    private static let minWordLength = 3
    /// The maximum size of a key, in bytes. A longer key is probably data.
    private static let maxKeyBytes = 40

    package init() {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .mask }
        redactor = Redactor(settings)
    }

    /// Returns a message in which values are replaced, on one line.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - values: The metadata and the details of its record. Each word in them is replaced.
    package mutating func message(_ message: String, values: [JSONValue]) -> String {
        var template = ByteBuffer()
        var parts = ByteBuffer()
        let bytes = Array(redactor.text(message).utf8)
        _ = MessageTemplate.append(
            messageIn: bytes.span, from: 0, to: bytes.count, limit: limits.templateBytes, template: &template,
            parts: &parts)
        let text = MessageTemplate.title(of: template[0..<template.count][...])
        var words: Set<String> = []
        for value in values { Self.collect(value, into: &words) }
        return words.isEmpty ? text : Self.replacing(words, in: text)
    }

    /// Returns a value with the types and lengths of its texts and numbers instead of these.
    package mutating func value(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool: return value
        case .string(let text): return .string("<text of \(text.count)>")
        case .array(let elements): return .array(elements.map { self.value($0) })
        case .object(let members):
            return .object(members.map { JSONValue.Member(key($0.key), self.value($0.value)) })
        default: return .string("<number>")
        }
    }

    /// Returns a key that looks like a name in a program. Other keys may be data.
    private mutating func key(_ key: String) -> String {
        let isName =
            !key.isEmpty && key.utf8.count <= Self.maxKeyBytes
            && key.utf8.allSatisfy {
                (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || [0x5F, 0x2E, 0x2D].contains($0)
            }
        return isName && redactor.text(key) == key ? key : "<key>"
    }

    private static func collect(_ value: JSONValue, into words: inout Set<String>) {
        switch value {
        case .string(let text):
            for word in text.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber })
            where word.count >= minWordLength { words.insert(String(word)) }
        case .array(let elements): for element in elements { collect(element, into: &words) }
        case .object(let members): for member in members { collect(member.value, into: &words) }
        default: break
        }
    }

    private static func replacing(_ words: Set<String>, in text: String) -> String {
        var output = ""
        var word = ""
        for character in text + "\n" {
            if character.isLetter || character.isNumber {
                word.append(character)
                continue
            }
            output += words.contains(word.lowercased()) ? "<value>" : word
            word = ""
            output.append(character)
        }
        return String(output.dropLast())
    }
}

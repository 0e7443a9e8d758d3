package import IssueProtocol
// The rules are in a module of their own, because the client uses them without the rest of IssueCore.
@_exported public import IssueSecrets

extension Redactor {
    /// Creates a redactor that hashes values with SipHash.
    ///
    /// - Parameters:
    ///   - settings: The rules and their actions.
    ///   - key: The key of the hashes.
    package init(_ settings: RedactionSettings = .off, key: RedactionKey = RedactionKey(low: 0, high: 0)) {
        self.init(settings) { value in
            var hash = SipHash(key0: key.low, key1: key.high)
            for index in value.indices { hash.append(value[index]) }
            return hash.finish()
        }
    }
}

/// Copies a text run by run, with a mark in place of each value that redaction removes.
///
/// If a value extends over several runs, its mark is written in the first one.
private struct MarkedCopy {
    /// The ranges of the values, in order.
    let values: [Range<Int>]
    /// The index of the next value.
    private var next = 0
    /// Whether the mark of the next value was written in an earlier run.
    private var isWritten = false

    init(_ values: [Range<Int>]) {
        self.values = values
    }

    /// Copies the next run.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the text.
    ///   - start: The index of the first byte of the run.
    ///   - end: The index after its last byte.
    ///   - output: The buffer to append to.
    ///   - mark: Appends the mark of a value, given its index in `values`.
    ///   - plain: Appends the bytes between two indexes. They belong to no value.
    mutating func append(
        _ bytes: Span<UInt8>, from start: Int, to end: Int, to output: inout ByteBuffer,
        mark: (_ value: Int, inout ByteBuffer) -> Void, plain: (inout ByteBuffer, Int, Int) -> Void
    ) {
        var index = start
        while next < values.count, values[next].lowerBound < end {
            let value = values[next]
            if !isWritten {
                if value.lowerBound > index { plain(&output, index, value.lowerBound) }
                mark(next, &output)
                isWritten = true
            }
            guard value.upperBound <= end else { return }
            index = max(index, value.upperBound)
            next += 1
            isWritten = false
        }
        if index < end { plain(&output, index, end) }
    }
}

extension Redactor {
    /// Splits a message, in which `find` has found the values in `matches`, into its template and parts.
    ///
    /// If the sender gave no template, the template is computed from the message with a stand-in for each value. It
    /// therefore depends neither on the values nor on the marks that replace them: a message that the sender has
    /// already redacted has the same template.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the message.
    ///   - start: The index of the message's first byte.
    ///   - end: The index after the message's last byte.
    ///   - sent: The sender's template; nil unless it describes the message or its beginning.
    ///   - limit: The maximum number of bytes that the template covers, counting a stand-in for each value.
    ///   - template: The buffer the template is appended to.
    ///   - parts: The buffer for the parts.
    ///   - message: The buffer for the message with its values replaced.
    /// - Returns: The form in which the message must be stored.
    mutating func append(
        messageIn bytes: Span<UInt8>, from start: Int, to end: Int, sent: SentTemplate?, limit: Int,
        template: inout ByteBuffer, parts: inout ByteBuffer, message: inout ByteBuffer
    ) -> DecodedRecord.MessageForm {
        countMatches()
        parts.truncate(to: 0)
        message.truncate(to: 0)
        appendReplaced(bytes, from: start, to: end, to: &message)
        var builder = RedactedTemplate(limit: limit)
        var rest = start
        if let sent {
            rest = append(sent, bytes, from: start, &builder, template: &template, parts: &parts)
            guard rest < end else { return builder.form }
        }
        append(bytes, from: rest, to: end, &builder, template: &template, parts: &parts)
        return builder.form
    }

    /// The state of a template that is being written.
    private struct RedactedTemplate {
        let limit: Int
        var partCount = 0
        /// Whether the message must be stored whole.
        var isWhole = false

        var form: DecodedRecord.MessageForm { isWhole ? .whole : partCount == 0 ? .template : .parts }

        mutating func startPart(
            _ kind: MessageTemplate.Placeholder, _ template: inout ByteBuffer, _ parts: inout ByteBuffer
        ) {
            template.append(kind.rawValue)
            if partCount > 0 { parts.append(MessageTemplate.separator) }
            partCount += 1
        }
    }

    /// Writes the part of a message that its sender's template describes. Returns the start of the rest.
    private mutating func append(
        _ sent: SentTemplate, _ bytes: Span<UInt8>, from start: Int, _ builder: inout RedactedTemplate,
        template: inout ByteBuffer, parts: inout ByteBuffer
    ) -> Int {
        var copy = MarkedCopy(matches.map { $0.start..<$0.end })
        var position = start
        for piece in sent.pieces {
            let next = position + piece.count
            for index in position..<next where MessageTemplate.isControl(bytes[index]) { builder.isWhole = true }
            if piece.isValue {
                builder.startPart(.value, &template, &parts)
                append(bytes, position, next, &copy, isTemplate: false, to: &parts)
            } else {
                append(bytes, position, next, &copy, isTemplate: true, to: &template)
            }
            position = next
        }
        // A value may extend into the rest of the message. Its mark is written already, so its end is skipped.
        matches.removeAll { $0.start < position && $0.end <= position }
        if let first = matches.first, first.start < position {
            matches.removeFirst()
            return first.end
        }
        return position
    }

    private mutating func append(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ copy: inout MarkedCopy, isTemplate: Bool,
        to output: inout ByteBuffer
    ) {
        var marks = ByteBuffer()
        copy.append(bytes, from: start, to: end, to: &output) { value, output in
            marks.truncate(to: 0)
            append(matches[value], of: bytes, to: &marks)
            output.append(marks)
        } plain: { output, first, last in
            for index in first..<last {
                let isControl = isTemplate && MessageTemplate.isControl(bytes[index])
                output.append(isControl ? UInt8(ascii: " ") : bytes[index])
            }
        }
    }

    /// Writes a message without a sender's template, or the rest that the sender's template does not describe.
    private mutating func append(
        _ bytes: Span<UInt8>, from start: Int, to end: Int, _ builder: inout RedactedTemplate,
        template: inout ByteBuffer, parts: inout ByteBuffer
    ) {
        // `neutral` is the text with a stand-in for each value.
        var neutral = ByteBuffer()
        var standInRanges: [Range<Int>] = []
        let values = matches
        var index = start
        for value in values {
            neutral.append(bytes, from: index, to: value.start)
            let first = neutral.count
            neutral.append(contentsOf: value.rule.standIn.description.utf8)
            standInRanges.append(first..<neutral.count)
            index = value.end
        }
        neutral.append(bytes, from: index, to: end)
        let limit = max(0, builder.limit - template.count)
        var last = min(neutral.count, limit)
        if last < neutral.count { builder.isWhole = true }
        while last < neutral.count, last > 0, neutral.span[last] & 0xC0 == 0x80 { last -= 1 }

        var copy = MarkedCopy(standInRanges)
        func emit(_ redactor: inout Redactor, from first: Int, to last: Int, _ output: inout ByteBuffer) {
            var plainText = ByteBuffer()
            copy.append(neutral.span, from: first, to: last, to: &plainText) { value, output in
                redactor.append(values[value], of: bytes, to: &output)
            } plain: { output, first, last in
                output.append(neutral.span, from: first, to: last)
            }
            output.append(plainText)
        }
        var reader = TemplateReader(bytes: neutral.span, start: 0, end: last)
        var plain = 0
        while let token = reader.next() {
            switch token {
            case .control(let index):
                emit(&self, from: plain, to: index, &template)
                template.append(UInt8(ascii: " "))
                builder.isWhole = true
                plain = index + 1
            case .part(let kind, let first, let end):
                emit(&self, from: plain, to: first, &template)
                builder.startPart(kind, &template, &parts)
                emit(&self, from: first, to: end, &parts)
                plain = end
            }
        }
        emit(&self, from: plain, to: last, &template)
    }
}

/// Reduces messages and metadata to the parts that help to find a fault: constant text, keys and types.
///
/// In a message, all rules of redaction are applied first, even if they are switched off. Then the values that
/// `MessageTemplate` recognises are replaced, such as numbers, paths, addresses and quoted text. Finally, each word of
/// at least three characters that also occurs in a string of the record's metadata or details is replaced. A name that
/// occurs only in the message remains, because it cannot be distinguished from constant text.
package struct Anonymizer: Sendable {
    private var redactor: Redactor
    private let limits = RecordLimits()

    /// The minimum number of characters of a word in metadata or details for it to be replaced in messages.
    private static let minWordLength = 3
    /// The maximum size of a key, in bytes. A longer key is probably data.
    private static let maxKeyBytes = 40

    package init() {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .mask }
        redactor = Redactor(settings)
    }

    /// Returns a message as one line in which values are replaced. A long message is cut.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - values: The metadata and the details of its record. Words that occur in their strings are replaced.
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

    /// Returns a value in which each number is replaced with its type, and each text with its type and length in
    /// characters. Keys that do not look like names, or contain a secret, are replaced too.
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

    /// Returns a key unchanged if it looks like a name in a program and contains no secret. Other keys may be data, and
    /// are replaced.
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

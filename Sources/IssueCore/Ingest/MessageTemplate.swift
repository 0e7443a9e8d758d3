package import IssueProtocol

/// The common text of similar messages, with placeholders for the parts that vary, such as numbers and addresses.
///
/// A placeholder is a single control character, so it cannot be confused with a sender's text. A message that contains
/// control characters other than line breaks and tabs, or is longer than its template may cover, is stored whole in
/// addition to its template. For other messages, the replaced parts are stored in order, separated by `separator`, and
/// restore the message exactly.
package enum MessageTemplate {
    /// The kind of text that was replaced.
    package enum Placeholder: UInt8, CaseIterable, Sendable {
        /// A number, a date, a word that contains a digit, a value after a key, or a list of these.
        case number = 1
        /// Only in templates of rule 1 (`Fingerprint.rule`).
        case hexadecimal
        case uuid
        case quoted
        case path
        case address
        /// A value that the sender gave separately from the constant text.
        case value

        /// The text shown to people.
        package var word: String {
            switch self {
            case .number: "<n>"
            case .hexadecimal: "<hex>"
            case .uuid: "<uuid>"
            case .quoted: "<quoted>"
            case .path: "<path>"
            case .address: "<address>"
            case .value: "<value>"
            }
        }
    }

    /// The byte between two parts. It never occurs in a message that is stored as parts.
    package static let separator: UInt8 = 0x1F

    /// Appends a message's template to `template`, and sets `parts` to the parts that placeholders replace.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the message.
    ///   - start: The index of the message's first byte.
    ///   - end: The index after the message's last byte.
    ///   - limit: The maximum number of bytes of the message that its template covers; the rest is ignored.
    ///   - template: The buffer the template is appended to.
    ///   - parts: The buffer for the parts.
    /// - Returns: The form in which the message must be stored.
    package static func append(
        messageIn bytes: Span<UInt8>, from start: Int, to end: Int, limit: Int, template: inout ByteBuffer,
        parts: inout ByteBuffer
    ) -> DecodedRecord.MessageForm {
        var last = min(end, start + limit)
        // No character is split.
        while last < end, last > start, bytes[last] & 0xC0 == 0x80 { last -= 1 }
        var reader = TemplateReader(bytes: bytes, start: start, end: last)
        parts.truncate(to: 0)
        var partCount = 0
        var isWhole = end - start > limit
        // Bytes that are neither a part nor a control character are copied in runs.
        var plain = start
        while let token = reader.next() {
            switch token {
            case .control(let index):
                template.append(bytes, from: plain, to: index)
                template.append(UInt8(ascii: " "))
                isWhole = true
                plain = index + 1
            case .part(let placeholder, let first, let last):
                template.append(bytes, from: plain, to: first)
                template.append(placeholder.rawValue)
                if partCount > 0 { parts.append(separator) }
                partCount += 1
                parts.append(bytes, from: first, to: last)
                plain = last
            }
        }
        template.append(bytes, from: plain, to: reader.end)
        if isWhole { return .whole }
        return partCount == 0 ? .template : .parts
    }

    /// Returns the message that a template and its parts represent.
    package static func message(template: [UInt8], parts: [UInt8]) -> String {
        String(decoding: messageBytes(template: template, parts: parts), as: UTF8.self)
    }

    /// Returns the bytes of the message that a template and its parts represent.
    package static func messageBytes(template: [UInt8], parts: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(template.count + parts.count)
        var part = 0
        // The text between two placeholders is copied at once.
        var plain = 0
        let bytes = template.span
        // The bounds are vectors, because the comparison of a vector with a scalar is compiled byte by byte.
        let lowest = ByteMask.Vector(repeating: Int8(Placeholder.number.rawValue))
        let highest = ByteMask.Vector(repeating: Int8(Placeholder.value.rawValue))
        while true {
            let index = bytes.scan(from: plain, to: bytes.count, for: { ($0 .>= lowest) .& ($0 .<= highest) })
            guard let next = template[index...].firstIndex(where: isPlaceholder) else { break }
            output.append(contentsOf: template[plain..<next])
            plain = next + 1
            let start = part
            while part < parts.count, parts[part] != separator { part += 1 }
            output.append(contentsOf: parts[start..<part])
            part = min(part + 1, parts.count)
        }
        output.append(contentsOf: template[plain...])
        return output
    }

    static func isPlaceholder(_ byte: UInt8) -> Bool {
        byte >= Placeholder.number.rawValue && byte <= Placeholder.value.rawValue
    }

    /// Returns the template as a single line for people.
    ///
    /// The parameter is not generic, because generic functions are slow across modules, where they are not specialised.
    package static func title(of template: ArraySlice<UInt8>) -> String {
        var output: [UInt8] = []
        for byte in template {
            if let placeholder = Placeholder(rawValue: byte) {
                output.append(contentsOf: placeholder.word.utf8)
            } else {
                output.append(byte < 0x20 ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Returns `true` for control characters other than line breaks and tabs. A template contains them only as
    /// placeholders.
    static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 && byte != 0x0A && byte != 0x09 && byte != 0x0D || byte == 0x7F
    }

    /// Returns `true` if a template has values of the sender, but no letters, digits or non-ASCII characters outside
    /// placeholders.
    package static func consistsOfValues(_ template: [UInt8]) -> Bool {
        var hasValue = false
        for byte in template {
            if byte == Placeholder.value.rawValue { hasValue = true }
            if ByteClass.isLetter(byte) || ByteClass.isDigit(byte) || byte >= 0x80 { return false }
        }
        return hasValue
    }

    /// Returns the source location as it is appended to the title of an issue whose template consists of values, such
    /// as ` in checkout() (Cart.swift:7)`. Empty if function and file are unknown.
    package static func place(of source: SourceLocation) -> String {
        var place = source.function.map { " in \($0)" } ?? ""
        if let file = source.fileID?.split(separator: "/").last {
            place += " (\(file)\(source.line.map { ":\($0)" } ?? ""))"
        }
        return title(of: Array(place.utf8)[...])
    }
}

/// How another store, such as a set-aside database, holds a message: its template and, unless the message is stored
/// whole, its parts.
package struct SplitMessage: Equatable, Sendable {
    let form: DecodedRecord.MessageForm
    let template: [UInt8]
    let parts: [UInt8]

    /// - Parameters:
    ///   - template: The template of the record's series.
    ///   - parts: The parts of the message; nil if it is stored whole.
    ///   - limits: The limits of a record.
    /// - Returns: Nil if the template is too long or malformed.
    package init?(template: [UInt8], parts: [UInt8]?, limits: RecordLimits) {
        guard template.count <= limits.templateBytes, String(validating: template, as: UTF8.self) != nil,
            template.allSatisfy({ MessageTemplate.isPlaceholder($0) || !MessageTemplate.isControl($0) })
        else { return nil }
        self.template = template
        self.parts = parts ?? []
        form = parts == nil ? .whole : template.contains(where: MessageTemplate.isPlaceholder) ? .parts : .template
    }

    /// Returns `true` if the message is stored whole, or if the template and the parts represent exactly this message.
    func represents(_ message: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        guard form != .whole else { return true }
        let count = template.count(where: MessageTemplate.isPlaceholder)
        guard parts.count(where: { $0 == MessageTemplate.separator }) == max(count - 1, 0),
            parts.allSatisfy({ $0 == MessageTemplate.separator || !MessageTemplate.isControl($0) }),
            count > 0 || parts.isEmpty
        else { return false }
        let own = MessageTemplate.messageBytes(template: template, parts: parts)
        return own.count == end - start && own.span.equals(from: 0, message, from: start, count: own.count)
    }
}

/// The template and the values that a sender gave for its message.
///
/// In the wire format, `{}` is a value, and `{{` and `}}` are braces. A sender's template is used only if it
/// describes the message, or the beginning of it, exactly.
package struct SentTemplate: Sendable {
    private var text = ByteBuffer()
    private var values = ByteBuffer()
    /// The index after each value in `values`.
    private var ends: [Int] = []

    package init() {}

    /// Removes the text and all values, and keeps the memory.
    package mutating func clear() {
        text.truncate(to: 0)
        values.truncate(to: 0)
        ends.removeAll(keepingCapacity: true)
    }

    /// Sets the text, in the form of the wire format.
    package mutating func setText(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        text.truncate(to: 0)
        text.append(bytes, from: start, to: end)
    }

    /// Adds the next value as it appears in the message.
    package mutating func appendValue(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        values.append(bytes, from: start, to: end)
        ends.append(values.count)
    }

    /// Appends a message's template to `template`, and sets `parts` to the values.
    ///
    /// If the sender's template describes only the beginning of the message, the rest is split like a message without a
    /// sender's template.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the message.
    ///   - start: The index of the message's first byte.
    ///   - end: The index after the message's last byte.
    ///   - limit: The maximum number of bytes of the template.
    ///   - template: The buffer the template is appended to. Its new bytes are meaningless if nil is returned.
    ///   - parts: The buffer for the parts.
    /// - Returns: The form in which the message must be stored; nil if text and values contradict the message, or the
    ///   text is malformed or larger than `limit`.
    package func append(
        messageIn bytes: Span<UInt8>, from start: Int, to end: Int, limit: Int, template: inout ByteBuffer,
        parts: inout ByteBuffer
    ) -> DecodedRecord.MessageForm? {
        parts.truncate(to: 0)
        guard text.count <= limit else { return nil }
        let first = template.count
        var position = start
        var valueCount = 0
        var isWhole = false
        var index = 0
        while index < text.count {
            let byte = text.span[index]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") {
                guard index + 1 < text.count else { return nil }
                let next = text.span[index + 1]
                index += 1
                if next != byte {
                    guard byte == UInt8(ascii: "{"), next == UInt8(ascii: "}"),
                        let length = matchValue(valueCount, bytes, at: position, to: end, isWhole: &isWhole)
                    else { return nil }
                    template.append(MessageTemplate.Placeholder.value.rawValue)
                    if valueCount > 0 { parts.append(MessageTemplate.separator) }
                    parts.append(bytes, from: position, to: position + length)
                    valueCount += 1
                    position += length
                    index += 1
                    continue
                }
            }
            guard position < end, bytes[position] == byte else { return nil }
            let isControl = MessageTemplate.isControl(byte)
            isWhole = isWhole || isControl
            template.append(isControl ? UInt8(ascii: " ") : byte)
            position += 1
            index += 1
        }
        guard valueCount == ends.count else { return nil }
        let form: DecodedRecord.MessageForm = valueCount == 0 ? .template : .parts
        guard position < end else { return isWhole ? .whole : form }
        var rest = ByteBuffer()
        let restForm = MessageTemplate.append(
            messageIn: bytes, from: position, to: end, limit: max(0, limit - (template.count - first)),
            template: &template, parts: &rest)
        if isWhole || restForm == .whole { return .whole }
        guard restForm == .parts else { return form }
        if valueCount > 0 { parts.append(MessageTemplate.separator) }
        parts.append(rest)
        return .parts
    }

    /// Returns the length of a value if the message has it at `position`, otherwise nil.
    ///
    /// - Parameter isWhole: Set to `true` if the value has control characters, which parts must not have.
    private func matchValue(
        _ index: Int, _ bytes: Span<UInt8>, at position: Int, to end: Int, isWhole: inout Bool
    ) -> Int? {
        guard index < ends.count else { return nil }
        let start = index == 0 ? 0 : ends[index - 1]
        let length = ends[index] - start
        guard length <= end - position else { return nil }
        let expected = values.span
        for offset in 0..<length {
            let byte = expected[start + offset]
            guard bytes[position + offset] == byte else { return nil }
            if MessageTemplate.isControl(byte) { isWhole = true }
        }
        return length
    }

    /// The texts and values of the template in order, with their sizes in the message, in bytes. Valid only after
    /// `append` has accepted the template.
    var pieces: [(isValue: Bool, count: Int)] {
        var pieces: [(isValue: Bool, count: Int)] = []
        var values = 0
        var textCount = 0
        var index = 0
        while index < text.count {
            let byte = text.span[index]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") {
                index += 1
                if byte == UInt8(ascii: "{"), index < text.count, text.span[index] == UInt8(ascii: "}") {
                    pieces.append((false, textCount))
                    pieces.append((true, ends[values] - (values == 0 ? 0 : ends[values - 1])))
                    values += 1
                    textCount = 0
                    index += 1
                    continue
                }
            }
            textCount += 1
            index += 1
        }
        pieces.append((false, textCount))
        return pieces
    }
}

extension RecordDecoder {
    /// Splits a message with the template that the sender gave, and sets `template` and `parts`.
    ///
    /// - Returns: The form in which the message must be stored. Nil if the record has no template, or one that
    ///   is malformed, contradicts the message or exceeds a limit; `template` is empty then.
    mutating func readSentTemplate(
        of message: Span<UInt8>, from start: Int, to end: Int, _ scanner: borrowing JSONScanner
    ) -> DecodedRecord.MessageForm? {
        guard let sent = fields.text(.template) else { return nil }
        sentTemplate.clear()
        if sent.hasEscapes {
            var resolved = ByteBuffer()
            scanner.append(sent, to: &resolved)
            sentTemplate.setText(resolved.span, from: 0, to: resolved.count)
        } else {
            sentTemplate.setText(scanner.bytes, from: sent.start, to: sent.end)
        }
        guard readSentValues(scanner) else { return nil }
        let form = sentTemplate.append(
            messageIn: message, from: start, to: end, limit: limits.templateBytes, template: &template, parts: &parts)
        if form == nil { template.truncate(to: 0) }
        return form
    }

    /// Reads the values, whose types `readFields` has checked. Returns `false` if there are more than `limits.parts`.
    private mutating func readSentValues(_ scanner: borrowing JSONScanner) -> Bool {
        guard let range = fields.parts else { return true }
        var values = JSONScanner(scanner.bytes, from: range.lowerBound)
        do throws(JSONError) {
            try values.openArray()
            var count = 0
            while try values.nextElement() {
                count += 1
                guard count <= limits.parts else { return false }
                if try values.kind() == .string {
                    let text = try values.text()
                    if text.hasEscapes {
                        var resolved = ByteBuffer()
                        values.append(text, to: &resolved)
                        sentTemplate.appendValue(resolved.span, from: 0, to: resolved.count)
                    } else {
                        sentTemplate.appendValue(values.bytes, from: text.start, to: text.end)
                    }
                } else {
                    let value = try values.skipValue()
                    sentTemplate.appendValue(values.bytes, from: value.lowerBound, to: value.upperBound)
                }
            }
            return true
        } catch {
            return false
        }
    }
}

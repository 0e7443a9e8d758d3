package import IssueProtocol

/// The template and the values that a sender gave for its message.
///
/// In the wire format, `{}` is a value, and `{{` and `}}` are braces. The template must describe the message or
/// its beginning exactly: a sender's template is used only if it agrees with the message.
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

    /// Appends a message's template to `template` and replaces the content of `parts` with the parts left out.
    ///
    /// The message after the described beginning is read like one without a template.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the message.
    ///   - start: The index of the message's first byte.
    ///   - end: The index after the message's last byte.
    ///   - limit: The maximum number of bytes of the template.
    ///   - template: The buffer the template is appended to. Its new bytes are meaningless if nil is returned.
    ///   - parts: The buffer for the parts.
    /// - Returns: The form in which the message must be stored; nil if text and values contradict the message.
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
}

extension SentTemplate {
    /// The sizes of the template's texts and values in the message, in order.
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
    /// Splits a message as the record's own template says, and writes `template` and `parts`.
    ///
    /// - Returns: The form in which the message must be stored. Nil if the record has no template, or one that
    ///   contradicts the message or exceeds a limit; `template` is empty then.
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

    /// Reads the values, whose types were checked before. Returns `false` if there are too many.
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

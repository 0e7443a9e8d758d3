package import IssueProtocol

/// What messages of one kind have in common: their text with numbers, names and addresses taken out.
///
/// A placeholder is one control character, so that it can't be confused with
/// what a sender wrote: a message that holds such characters itself is kept
/// whole beside its template. The parts taken out are kept in order, divided by
/// `separator`, and give the message back exactly.
package enum MessageTemplate {
    /// What a placeholder stands for.
    package enum Placeholder: UInt8, CaseIterable, Sendable {
        case number = 1
        case hexadecimal
        case uuid
        case quoted
        case path
        case address

        /// How people read it.
        package var word: String {
            switch self {
            case .number: "<n>"
            case .hexadecimal: "<hex>"
            case .uuid: "<uuid>"
            case .quoted: "<quoted>"
            case .path: "<path>"
            case .address: "<address>"
            }
        }
    }

    /// Between two parts; never in a message that is kept as parts.
    package static let separator: UInt8 = 0x1F

    /// Appends the template of the message in a range of bytes, and the parts it leaves out to `parts`.
    ///
    /// - Returns: how the message can be given back.
    package static func append(
        messageIn bytes: Span<UInt8>, from start: Int, to end: Int, limit: Int, template: inout ByteBuffer,
        parts: inout ByteBuffer
    ) -> DecodedRecord.MessageForm {
        var last = min(end, start + limit)
        while last < end, last > start, bytes[last] & 0xC0 == 0x80 { last -= 1 }
        var reader = TemplateReader(bytes: bytes, start: start, end: last)
        parts.truncate(to: 0)
        var partCount = 0
        var isWhole = end - start > limit
        // What is neither a part nor a control character goes over in one piece with its like.
        var plain = start
        while let token = reader.next() {
            switch token {
            case .control(let place):
                template.append(bytes, from: plain, to: place)
                template.append(UInt8(ascii: " "))
                isWhole = true
                plain = place + 1
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

    /// The message that a template and its parts give back.
    package static func message(template: [UInt8], parts: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(template.count + parts.count)
        var rest = parts[...]
        for byte in template {
            guard Placeholder(rawValue: byte) != nil else {
                output.append(byte)
                continue
            }
            let end = rest.firstIndex(of: separator) ?? rest.endIndex
            output.append(contentsOf: rest[..<end])
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The template as people read it, on one line.
    package static func title(of template: some Sequence<UInt8>) -> String {
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
}

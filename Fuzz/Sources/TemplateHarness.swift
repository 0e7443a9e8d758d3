import IssueCore
import IssueProtocol

/// Template and parts restore the message, for any bytes and at any offset.
///
/// Input: the limit of the template's length in units of four bytes, and the message.
enum TemplateHarness {
    struct Cut: Equatable {
        var form: DecodedRecord.MessageForm
        var template: [UInt8]
        var parts: [UInt8]
    }

    static func run(_ input: Span<UInt8>) {
        guard input.count > 0 else { return }
        let limit = 4 * Int(input[0])
        let message = input.array(from: 1)
        let cut = cut(message, limit: limit)
        let between = [UInt8](repeating: UInt8(ascii: "7"), count: 9)
        require(
            cut == self.cut(between + message + between, from: 9, to: 9 + message.count, limit: limit),
            "The bytes around a message change its template")
        switch cut.form {
        case .template: require(cut.template == message, "The template alone is not the message")
        case .parts:
            let text = MessageTemplate.message(template: cut.template, parts: cut.parts)
            require(text == message.asText, "\(message.asText) was restored as \(text)")
        case .whole:
            require(
                message.count > limit || message.contains { $0 < 0x20 || $0 == 0x7F },
                "A message was stored whole without a reason")
        }
        // A placeholder has one byte and replaces at least one byte of the message.
        require(cut.template.count <= min(message.count, limit), "A template is longer than its message")
        if String(validating: message, as: UTF8.self) != nil {
            require(String(validating: cut.template, as: UTF8.self) != nil, "A template is not UTF-8")
        }
        let title = MessageTemplate.title(of: cut.template[...])
        require(!title.utf8.contains { $0 < 0x20 }, "A title has a control character")
    }

    static func cut(_ bytes: [UInt8], from start: Int = 0, to end: Int? = nil, limit: Int) -> Cut {
        var template = ByteBuffer()
        var parts = ByteBuffer()
        let form = MessageTemplate.append(
            messageIn: bytes.span, from: start, to: end ?? bytes.count, limit: limit, template: &template,
            parts: &parts)
        return Cut(
            form: form, template: template[0..<template.count],
            parts: form == .parts ? parts[0..<parts.count] : [])
    }
}

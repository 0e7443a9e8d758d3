import IssueCore
import IssueProtocol

/// A text's template and parts, as the decoder makes them.
struct TemplateOfText {
    var template: [UInt8]
    var parts: [UInt8]
    var form: DecodedRecord.MessageForm

    init(_ text: String, limit: Int = RecordLimits().templateBytes) {
        self.init(bytes: Array(text.utf8), limit: limit)
    }

    init(bytes: [UInt8], limit: Int = RecordLimits().templateBytes) {
        var template = ByteBuffer()
        var parts = ByteBuffer()
        form = MessageTemplate.append(
            messageIn: bytes.span, from: 0, to: bytes.count, limit: limit, template: &template, parts: &parts)
        self.template = template[0..<template.count]
        self.parts = parts[0..<parts.count]
    }

    var title: String { MessageTemplate.title(of: template[...]) }

    /// The message restored from the template and the parts; nil if the message is stored whole.
    var message: [UInt8]? {
        switch form {
        case .template: Array(MessageTemplate.message(template: template, parts: []).utf8)
        case .parts: Array(MessageTemplate.message(template: template, parts: parts).utf8)
        case .whole: nil
        }
    }
}

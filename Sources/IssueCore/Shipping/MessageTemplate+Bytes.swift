extension MessageTemplate {
    /// The message that a template and its parts give back; for bytes as they are stored, which is what is asked most.
    package static func text(template: [UInt8], parts: [UInt8]) -> String {
        message(template: template, parts: parts)
    }
}

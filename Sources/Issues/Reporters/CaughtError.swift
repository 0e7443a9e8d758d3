/// How a caught error reads where only a message can be given.
enum CaughtError {
    static func text(_ error: any Error, _ message: String?) -> String {
        guard let words = words(error, message) else { return "Caught error: \(error)" }
        return "Caught error: \(error): \(words)"
    }

    /// What is said beside the error's description: the message that its author has written, and the caller's.
    static func words(_ error: any Error, _ message: String?) -> String? {
        var words: [String] = []
        if let own = (error as? any ReportableError)?.message, own != TypeName.withoutContexts("\(error)") {
            words.append(own)
        }
        if let message, !message.isEmpty { words.append(message) }
        return words.isEmpty ? nil : words.joined(separator: ": ")
    }
}

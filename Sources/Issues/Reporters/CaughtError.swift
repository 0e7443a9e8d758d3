/// How a caught error reads where only a message can be given.
enum CaughtError {
    static func text(_ error: any Error, _ message: String?) -> String {
        let text = "Caught error: \(error)"
        guard let message, !message.isEmpty else { return text }
        return "\(text): \(message)"
    }
}

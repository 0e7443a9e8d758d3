public import Foundation
public import Issues

// Run by the loader before the program begins: whoever links this product has
// nothing to call.
@section(".init_array") @used
private let installReader: @convention(c) () -> Void = {
    FoundationReader.current = FoundationReader(
        userMessage: { LocalizedErrorReader.userMessage(of: $0) }, facts: { LocalizedErrorReader.facts(of: $0) })
}

/// What errors say by Foundation's own protocol.
enum LocalizedErrorReader {
    static func userMessage(of error: any Error) -> String? {
        (error as? any LocalizedError)?.errorDescription
    }

    /// The texts go beside the message and not into it: it is the same in all
    /// languages, and by it the daemon groups.
    static func facts(of error: any Error) -> IssueMetadata {
        guard let error = error as? any LocalizedError else { return [:] }
        var facts = IssueMetadata()
        let texts: [(IssueMetadata.Key, String?)] = [
            ("localized_description", error.errorDescription), ("failure_reason", error.failureReason),
            ("recovery_suggestion", error.recoverySuggestion), ("help_anchor", error.helpAnchor),
        ]
        for (key, text) in texts { facts[key] = text.map { .init($0) } }
        return facts
    }
}

extension Problem: LocalizedError {}

extension ReportableError where Self: LocalizedError {
    /// What to tell people, or else what happened: this is what `localizedDescription` says.
    public var errorDescription: String? { userMessage ?? message }
}

public import Foundation
public import Issues
public import IssuesPresenting

// The loader runs this before `main`, so that an application only has to link this product.
@section(".init_array") @used
private let installReader: @convention(c) () -> Void = {
    FoundationReading.reader = LocalizedErrorReader()
}

/// Reads errors that conform to Foundation's `LocalizedError`.
struct LocalizedErrorReader: FoundationReader {
    func userMessage(of error: any Error) -> String? {
        (error as? any LocalizedError)?.errorDescription
    }

    /// Returns the localised texts of the error. They are not part of the message, which must be the same in all
    /// languages, since the daemon groups by it.
    func metadata(of error: any Error) -> IssueMetadata {
        guard let error = error as? any LocalizedError else { return [:] }
        var metadata = IssueMetadata()
        let texts: [(IssueMetadata.Key, String?)] = [
            ("localized_description", error.errorDescription), ("failure_reason", error.failureReason),
            ("recovery_suggestion", error.recoverySuggestion), ("help_anchor", error.helpAnchor),
        ]
        for (key, text) in texts { metadata[key] = text.map { .init($0) } }
        return metadata
    }
}

extension IssueText.StringInterpolation {
    /// Appends a value in a format of Foundation.
    ///
    /// ```swift
    /// reportIssue("Refused \(price, format: .currency(code: "EUR")) of \(total, format: .number)")
    /// ```
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - format: The format.
    public mutating func appendInterpolation<Style: FormatStyle>(_ value: Style.FormatInput, format: Style)
    where Style.FormatOutput == String {
        appendInterpolation(format.format(value))
    }
}

extension IssueProblem: LocalizedError {}

extension ReportableError where Self: LocalizedError {
    /// The error's `userMessage` or, if that is nil, its `message`. `localizedDescription` returns this text.
    public var errorDescription: String? { userMessage ?? message }
}

public import Foundation
public import Issues

extension ReportableError where Self: LocalizedError {
    /// What to tell people, or else what happened: this is what `localizedDescription` says.
    public var errorDescription: String? { userMessage ?? message }
}

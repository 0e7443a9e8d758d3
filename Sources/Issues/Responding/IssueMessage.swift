/// The error as which an issue without an error climbs past the responders.
public struct IssueMessage: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was reported.
    public var message: String

    /// An error of these words.
    public init(_ message: String) {
        self.message = message
    }

    /// What was reported.
    public var description: String { message }
}

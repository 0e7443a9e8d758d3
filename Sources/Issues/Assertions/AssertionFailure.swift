/// The error as which a failed assertion is reported.
public struct AssertionFailure: ReportableError, Hashable, CustomStringConvertible {
    /// Which of the assertions it was.
    public enum Kind: String, Hashable, Sendable {
        /// ``Reported/assert(_:_:fileID:filePath:line:column:)`` or its sister that always fails.
        case assertion
        /// ``Reported/precondition(_:_:fileID:filePath:line:column:)`` or its sister that always fails.
        case precondition
        /// ``Reported/fatalError(_:fileID:filePath:line:column:)``
        case fatalError
    }

    /// Which of the assertions it was.
    public var kind: Kind
    /// The reason that was given, or "no reason".
    public var message: String
    /// The line and the file, such as `42_Cart.swift`.
    public var name: String

    /// The name.
    public var userInfo: IssueMetadata { ["name": .init(name)] }

    /// The kind, and the reason.
    public var description: String {
        switch kind {
        case .assertion: "Assertion failed: \(message)"
        case .precondition: "Precondition failed: \(message)"
        case .fatalError: "Fatal error: \(message)"
        }
    }
}

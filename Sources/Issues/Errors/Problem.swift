/// An error that is ready made.
///
/// ```swift
/// throw Problem(
///     "Could not reach the server.", source: .externalSystemUnavailable,
///     recovery: .heal(.retry { reload() }, .cancel))
/// ```
public struct Problem: ReportableError, CustomStringConvertible {
    /// What to tell people.
    public var userMessage: String?
    /// Whose doing it is.
    public var source: ErrorSource
    /// A heading for people.
    public var title: String
    /// What happened, for developers.
    public var message: String
    /// The number of the error.
    public var code: Int
    /// Facts that go with it.
    public var userInfo: IssueMetadata
    /// Whether the daemon may forward it.
    public var isReportable: Bool
    /// The errors that led to this one.
    public var underlyingErrors: [any Error]
    /// What can be done about it.
    public var recovery: Recovery

    /// A problem that people are told about.
    ///
    /// - Parameters:
    ///   - userMessage: What to tell people.
    ///   - source: Whose doing it is.
    ///   - title: A heading; that of the source unless told otherwise.
    ///   - message: What happened, for developers; the same words unless told otherwise.
    ///   - code: The number of the error.
    ///   - userInfo: Facts that go with it.
    ///   - isReportable: Whether the daemon may forward it.
    ///   - cause: The error that led to this one.
    ///   - recovery: What can be done about it.
    public init(
        _ userMessage: String, source: ErrorSource = .internalInconsistency, title: String? = nil,
        message: String? = nil, code: Int = 0, userInfo: IssueMetadata = [:], isReportable: Bool = true,
        cause: (any Error)? = nil, recovery: Recovery = .acknowledge
    ) {
        self.userMessage = userMessage
        self.source = source
        self.title = title ?? source.title
        self.message = message ?? userMessage
        self.code = code
        self.userInfo = userInfo
        self.isReportable = isReportable
        underlyingErrors = [cause].compactMap(\.self)
        self.recovery = recovery
    }

    /// What happened, for developers.
    public var description: String { message }
}

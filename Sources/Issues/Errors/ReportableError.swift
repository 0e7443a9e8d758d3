/// An error that describes itself to developers and to users.
///
/// Every requirement has a default, so an error can adopt the protocol without any member and implement only what it
/// needs. The product `IssuesPresenting` has a refinement for errors that users can recover from.
public protocol ReportableError: Error {
    /// The kind of the error. Defaults to the type's qualified name.
    static var domain: String { get }
    /// The number of the error within its domain. Defaults to 0.
    var code: Int { get }
    /// A description for developers. Defaults to `String(describing:)` of the error, after the name of its type if it
    /// is an enum.
    var message: String { get }
    /// Metadata for the report. Metadata of scopes and of the call takes precedence for equal keys.
    var userInfo: IssueMetadata { get }
    /// Whether the daemon may forward the error. If false, the error is only stored and counted. Defaults to true.
    var isReportable: Bool { get }
    /// The errors that caused this one. Defaults to none.
    var underlyingErrors: [any Error] { get }
    /// The message that users see. Nil, the default, if the error is not shown to users.
    var userMessage: String? { get }
    /// Metadata about how the error is shown to users. The product `IssuesPresenting` implements it.
    var _presentation: IssueMetadata { get }
}

extension ReportableError {
    public static var domain: String { TypeName.of(Self.self) }
    public var code: Int { 0 }
    // Without the memory addresses that Swift prints for private types.
    public var message: String { ErrorTypeInfo.of(self).text(of: self) }
    public var userInfo: IssueMetadata { [:] }
    public var isReportable: Bool { true }
    public var underlyingErrors: [any Error] { [] }
    public var userMessage: String? { nil }
    public var _presentation: IssueMetadata { [:] }
}

/// An error that says more about itself: to developers, and to people.
///
/// Every requirement has a default, so an error conforms by naming the protocol
/// and adds what it has to say.
public protocol ReportableError: Error {
    /// What kind of error it is; by default the type's qualified name.
    static var domain: String { get }
    /// The number of the error within its domain; by default 0.
    var code: Int { get }
    /// What happened, for developers; by default the error's description.
    var message: String { get }
    /// Facts that go with it; those of scopes and calls win over them.
    var userInfo: IssueMetadata { get }
    /// Whether the daemon may forward it; if not, it is stored and counted only. By default it may.
    var isReportable: Bool { get }
    /// The errors that led to this one; by default none.
    var underlyingErrors: [any Error] { get }

    /// Whose doing it is; by default an inconsistency of the program's own.
    var source: ErrorSource { get }
    /// A heading for people; by default that of the source.
    var title: String { get }
    /// What to tell people; nil, the default, if this is nothing for them.
    var userMessage: String? { get }
    /// What can be done about it; by default only to take note.
    var recovery: Recovery { get }
}

extension ReportableError {
    /// The type's qualified name.
    public static var domain: String { TypeName.of(Self.self) }
    /// 0.
    public var code: Int { 0 }
    /// The error's description.
    public var message: String { TypeName.withoutContexts(String(describing: self)) }
    /// No facts.
    public var userInfo: IssueMetadata { [:] }
    /// It may be forwarded.
    public var isReportable: Bool { true }
    /// None.
    public var underlyingErrors: [any Error] { [] }
    /// An inconsistency of the program's own.
    public var source: ErrorSource { .internalInconsistency }
    /// The source's.
    public var title: String { source.title }
    /// Nothing for people.
    public var userMessage: String? { nil }
    /// To take note.
    public var recovery: Recovery { .acknowledge }
}

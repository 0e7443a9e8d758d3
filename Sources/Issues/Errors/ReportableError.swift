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

/// What people can do about an error.
public enum Recovery: Sendable {
    /// Take note of it.
    case acknowledge
    /// Nothing: the program has to end.
    case terminate
    /// Choose what is to be done; one way at least, and others.
    case heal(HealingOption, [HealingOption])

    /// Choose what is to be done.
    public static func heal(_ first: HealingOption, _ others: HealingOption...) -> Recovery {
        .heal(first, others)
    }
}

/// Something that can be done about an error, to choose from.
public struct HealingOption: Sendable {
    /// How an option is to look.
    public enum Style: String, CaseIterable, Hashable, Codable, Sendable {
        /// One among others.
        case normal
        /// The one to take when in doubt.
        case recommended
        /// One that destroys something.
        case destructive
    }

    /// What stands on the button.
    public var title: String
    /// How it is to look.
    public var style: Style
    /// What it does.
    public var handler: @Sendable () -> Void

    /// Something that can be done.
    public init(_ title: String, style: Style = .normal, handler: @escaping @Sendable () -> Void) {
        self.title = title
        self.style = style
        self.handler = handler
    }

    /// Leaves everything as it is.
    public static var cancel: HealingOption {
        HealingOption(PresenterTexts.current.cancel) {}
    }

    /// Tries again.
    public static func retry(_ handler: @escaping @Sendable () -> Void) -> HealingOption {
        HealingOption(PresenterTexts.current.retry, style: .recommended, handler: handler)
    }
}

/// Whose doing an error is.
public enum ErrorSource: String, CaseIterable, Hashable, Codable, Sendable {
    /// Somebody entered what makes no sense.
    case invalidUserInput
    /// The program contradicts itself.
    case internalInconsistency
    /// Something that the program depends on is not there.
    case externalSystemUnavailable
    /// Something that the program depends on did what it should not.
    case externalSystemBehavedUnexpectedly

    /// A heading for people, in the language of ``PresenterTexts/current``.
    public var title: String {
        let texts = PresenterTexts.current
        return switch self {
        case .invalidUserInput: texts.invalidUserInput
        case .internalInconsistency: texts.internalInconsistency
        case .externalSystemUnavailable: texts.externalSystemUnavailable
        case .externalSystemBehavedUnexpectedly: texts.externalSystemBehavedUnexpectedly
        }
    }
}

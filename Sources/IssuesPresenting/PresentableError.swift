public import Issues

/// An error that is shown to users with a heading and ways to recover from it.
///
/// An error is shown only if it has a `userMessage` or, with `IssuesFoundation`, a localised description that differs
/// from its `message`. Every requirement has a default.
public protocol PresentableError: ReportableError {
    /// The origin of the error. Defaults to ``IssueErrorSource/internalInconsistency``.
    var source: IssueErrorSource { get }
    /// The heading that users see. Defaults to the heading of `source`.
    var title: String { get }
    /// The ways for users to recover from the error. Defaults to ``IssueRecovery/acknowledge``.
    var recovery: IssueRecovery { get }
}

extension PresentableError {
    public var source: IssueErrorSource { .internalInconsistency }
    public var title: String { source.title }
    public var recovery: IssueRecovery { .acknowledge }

    public var _presentation: IssueMetadata {
        [.errorSource: .init(source.rawValue), .recovery: recovery.metadata]
    }
}

extension IssueMetadata.Key {
    /// The origin of an error that is shown to users.
    fileprivate static let errorSource: Self = "error_source"
    /// The ways for users to recover from an error.
    fileprivate static let recovery: Self = "recovery"
}

extension IssueRecovery {
    /// The name of the recovery, or the titles of its options.
    fileprivate var metadata: IssueMetadata.Value {
        switch self {
        case .acknowledge: "acknowledge"
        case .terminate: "terminate"
        case .heal(let first, let others): .init(([first] + others).map { .init($0.title) })
        }
    }
}

/// A general-purpose error that needs no type of its own.
///
/// ```swift
/// throw IssueProblem(
///     "Could not reach the server.", source: .externalSystemUnavailable,
///     recovery: .heal(.retry { reload() }, .cancel))
/// ```
public struct IssueProblem: PresentableError, CustomStringConvertible {
    /// The domain of these errors, `IssuesPresenting.Problem`.
    public static var domain: String { "IssuesPresenting.Problem" }

    /// The message that users see. Nil if the error is not shown to users.
    public var userMessage: String?
    /// The origin of the error.
    public var source: IssueErrorSource
    /// The heading that users see.
    public var title: String
    /// A description for developers.
    public var message: String
    /// The number of the error.
    public var code: Int
    /// Metadata for the report.
    public var userInfo: IssueMetadata
    /// Whether the daemon may forward the error.
    public var isReportable: Bool
    /// The errors that caused this one.
    public var underlyingErrors: [any Error]
    /// The ways for users to recover from the error.
    public var recovery: IssueRecovery

    /// Creates an error that is shown to users.
    ///
    /// - Parameters:
    ///   - userMessage: The message that users see.
    ///   - source: The origin of the error.
    ///   - title: The heading that users see. Nil uses the heading of `source`.
    ///   - message: A description for developers. Nil uses `userMessage`.
    ///   - code: The number of the error.
    ///   - userInfo: Metadata for the report.
    ///   - isReportable: `true` if the daemon may forward the error.
    ///   - cause: The error that caused this one. Nil for none.
    ///   - recovery: The ways for users to recover from the error.
    public init(
        _ userMessage: String, source: IssueErrorSource = .internalInconsistency, title: String? = nil,
        message: String? = nil, code: Int = 0, userInfo: IssueMetadata = [:], isReportable: Bool = true,
        cause: (any Error)? = nil, recovery: IssueRecovery = .acknowledge
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

    /// The description for developers.
    public var description: String { message }
}

/// The ways for users to recover from an error.
public enum IssueRecovery: Sendable {
    /// The user can only acknowledge the error.
    case acknowledge
    /// The user cannot recover. The program ends after the error is shown.
    case terminate
    /// The user chooses an option. There is at least one.
    case heal(IssueRecovery.Option, [IssueRecovery.Option])

    /// Creates a recovery from a list of options.
    ///
    /// - Parameters:
    ///   - first: The first option.
    ///   - others: Further options.
    /// - Returns: The recovery `heal` with these options.
    public static func heal(_ first: IssueRecovery.Option, _ others: IssueRecovery.Option...) -> IssueRecovery {
        .heal(first, others)
    }
}

extension IssueRecovery {
    /// An option that a user can choose to recover from an error.
    public struct Option: Sendable {
        /// The appearance of an option.
        public enum Style: String, CaseIterable, Hashable, Codable, Sendable {
            /// An ordinary option.
            case normal
            /// The recommended option.
            case recommended
            /// An option that deletes or overwrites data, or ends the program.
            case destructive
        }

        /// The text of the option's button.
        public var title: String
        /// The appearance of the option.
        public var style: Style
        /// The action of the option.
        public var handler: @Sendable () -> Void

        /// Creates an option.
        ///
        /// - Parameters:
        ///   - title: The text of the option's button.
        ///   - style: The appearance of the option.
        ///   - handler: The action. Runs on the thread that reports the error.
        public init(_ title: String, style: Style = .normal, handler: @escaping @Sendable () -> Void) {
            self.title = title
            self.style = style
            self.handler = handler
        }

        /// An option that does nothing, with the text ``IssuePresenterTexts/cancel``.
        public static var cancel: IssueRecovery.Option {
            IssueRecovery.Option(IssuePresenterTexts.current.cancel) {}
        }

        /// Creates a recommended option to try again, with the text ``IssuePresenterTexts/retry``.
        ///
        /// - Parameter handler: The action. Runs on the thread that reports the error.
        /// - Returns: The option.
        public static func retry(_ handler: @escaping @Sendable () -> Void) -> Option {
            IssueRecovery.Option(IssuePresenterTexts.current.retry, style: .recommended, handler: handler)
        }
    }
}

/// The origin of an error.
public enum IssueErrorSource: String, CaseIterable, Hashable, Codable, Sendable {
    /// The user's input is invalid.
    case invalidUserInput
    /// The program is in a state that it should never be in.
    case internalInconsistency
    /// A system that the program depends on is unavailable.
    case externalSystemUnavailable
    /// A system that the program depends on behaved incorrectly.
    case externalSystemBehavedUnexpectedly

    /// The heading that users see, in the language of ``IssuePresenterTexts/current``.
    public var title: String {
        let texts = IssuePresenterTexts.current
        return switch self {
        case .invalidUserInput: texts.invalidUserInput
        case .internalInconsistency: texts.internalInconsistency
        case .externalSystemUnavailable: texts.externalSystemUnavailable
        case .externalSystemBehavedUnexpectedly: texts.externalSystemBehavedUnexpectedly
        }
    }
}

/// Conversions between the levels and the severities.
extension IssueLevel {
    /// Creates the level of a severity.
    ///
    /// - Parameter severity: The severity.
    public init(_ severity: IssueSeverity) {
        switch severity {
        case .warning: self = .warning
        case .error: self = .error
        }
    }

    /// The nearest severity, for reporters that do not support levels.
    public var severity: IssueSeverity {
        switch self {
        case .debug, .info, .warning: .warning
        case .error, .critical: .error
        }
    }
}

/// The severity of an issue as test frameworks and the reporters of swift-issue-reporting know it: warning or error.
///
/// `reportIssue` also accepts the five levels of ``IssueLevel``.
public enum IssueSeverity: String, Sendable, Hashable, Codable, CaseIterable, Comparable, _IssueSeverity {
    /// A possible problem that does not fail a test.
    case warning
    /// A failure.
    case error

    public static func < (left: Self, right: Self) -> Bool {
        left == .warning && right == .error
    }

    /// The level of the same name.
    public var level: IssueLevel { IssueLevel(self) }
}

/// A protocol that only ``IssueSeverity`` conforms to. It lets `reportIssue` accept a variable of that type, while the
/// literals `.warning` and `.error` mean an ``IssueLevel``.
public protocol _IssueSeverity: Sendable {
    /// The level of the same name.
    var level: IssueLevel { get }
}

// Names that other libraries and logs use for levels. For each, the compiler's error message suggests the level to use.

extension IssueLevel {
    /// Use ``debug``.
    @available(*, unavailable, renamed: "debug")
    public static var trace: IssueLevel { .debug }
    /// Use ``debug``.
    @available(*, unavailable, renamed: "debug")
    public static var verbose: IssueLevel { .debug }
    /// Use ``info``.
    @available(*, unavailable, renamed: "info")
    public static var notice: IssueLevel { .info }
    /// Use ``warning``.
    @available(*, unavailable, renamed: "warning")
    public static var warn: IssueLevel { .warning }
    /// Use ``critical``.
    @available(*, unavailable, renamed: "critical")
    public static var fatal: IssueLevel { .critical }
    /// Use ``critical``.
    @available(*, unavailable, renamed: "critical")
    public static var fault: IssueLevel { .critical }
}

extension IssueSeverity {
    /// Use ``IssueLevel/debug``.
    @available(*, unavailable, message: "IssueSeverity has only warning and error; use IssueLevel.debug")
    public static var debug: IssueSeverity { .warning }
    /// Use ``IssueLevel/info``.
    @available(*, unavailable, message: "IssueSeverity has only warning and error; use IssueLevel.info")
    public static var info: IssueSeverity { .warning }
    /// Use ``IssueLevel/critical``.
    @available(*, unavailable, message: "IssueSeverity has only warning and error; use IssueLevel.critical")
    public static var critical: IssueSeverity { .error }
}

extension IssueReport {
    /// Use ``level``.
    @available(*, unavailable, renamed: "level")
    public var severity: IssueLevel { level }

    /// Use `level:`.
    @available(*, unavailable, message: "write 'level:' instead of 'severity:'")
    public init(
        _ subject: Any?, _ message: Any? = nil, severity: IssueLevel, metadata: IssueMetadata = [:],
        fingerprint: String? = nil
    ) {
        // The path is given, because the default would store the path of this file in each program.
        self.init(nil, level: severity, fileID: "", filePath: "", line: 0, column: 0, function: "")
    }
}

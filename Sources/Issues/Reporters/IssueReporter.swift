/// A type that receives each issue when it is reported.
///
/// The requirements are those of swift-issue-reporting 2.0, so a reporter written for that package works unchanged. A
/// reporter that needs the whole report, for example its level and metadata, conforms to ``IssueSink`` instead.
public protocol IssueReporter: Sendable {
    /// Reports an issue.
    ///
    /// - Parameters:
    ///   - message: A description of the issue. Nil for none.
    ///   - severity: The severity of the issue.
    ///   - fileID: The file ID of the location.
    ///   - filePath: The file path of the location.
    ///   - line: The line of the location.
    ///   - column: The column of the location.
    func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports a caught error. By default, reports the error's description and the message as an issue of severity
    /// `error`.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - message: The caller's message. Nil for none.
    ///   - fileID: The file ID of the location.
    ///   - filePath: The file path of the location.
    ///   - line: The line of the location.
    ///   - column: The column of the location.
    func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue that was expected. Does nothing by default.
    ///
    /// - Parameters:
    ///   - message: A description of the issue. Nil for none.
    ///   - fileID: The file ID of the location.
    ///   - filePath: The file path of the location.
    ///   - line: The line of the location.
    ///   - column: The column of the location.
    func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)

    /// Reports a caught error that was expected. By default, reports the error's description and the message as an
    /// expected issue.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - message: The caller's message. Nil for none.
    ///   - fileID: The file ID of the location.
    ///   - filePath: The file path of the location.
    ///   - line: The line of the location.
    ///   - column: The column of the location.
    func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue without a severity.
    ///
    /// This is the requirement of version 1 of swift-issue-reporting. By default, it calls
    /// `reportIssue(_:severity:fileID:filePath:line:column:)` with the severity `error`.
    ///
    /// - Parameters:
    ///   - message: A description of the issue. Nil for none.
    ///   - fileID: The file ID of the location.
    ///   - filePath: The file path of the location.
    ///   - line: The line of the location.
    ///   - column: The column of the location.
    func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)
}

extension IssueReporter {
    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        reportIssue(
            CaughtError.text(error, message()), severity: .error, fileID: fileID, filePath: filePath, line: line,
            column: column)
    }

    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {}

    public func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        expectIssue(
            CaughtError.text(error, message()), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    public func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        reportIssue(
            message(), severity: .error, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}

/// The current reporters, the properties of the application, and the settings for all reports.
public enum IssueReporters {
    /// The reporters of the current scope. Initially `[.default]` or, outside tests, the reporters that
    /// `ISSUED_REPORTERS` lists.
    ///
    /// Setting this property changes the innermost `withIssueReporters` scope around the assignment or, if there is
    /// none, the whole process.
    public static var current: [any IssueReporter] {
        get { ReportingScope.current.reporters.reporters }
        set { ReportingScope.current.reporters.reporters = newValue }
    }
}

/// A reporter that receives each issue as one value.
///
/// ```swift
/// struct Counter: IssueSink {
///     func receive(_ report: IssueReport) { issues.increment(by: 1) }
/// }
/// ```
public protocol IssueSink: IssueReporter {
    /// Receives an issue.
    ///
    /// Called on the reporting thread, so it must not block.
    ///
    /// - Parameter report: The issue.
    func receive(_ report: IssueReport)
}

extension IssueSink {
    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                note: message(), level: IssueLevel(severity),
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                error: error, note: message(), level: .error,
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }
}

extension IssueReport {
    // Not inlined, since each type of sink would contain a copy.
    @inline(never)
    fileprivate init(error: (any Error)? = nil, note: String?, level: IssueLevel, site: IssueSite) {
        self.init(
            error: error, note: IssueText.plain(note), level: level, metadata: [:], fingerprint: nil, site: site)
    }
}

/// The text of a caught error for reporters that accept only a message.
enum CaughtError {
    static func text(_ error: any Error, _ message: String?) -> String {
        guard let detail = detail(error, message) else { return "Caught error: \(error)" }
        return "Caught error: \(error): \(detail)"
    }

    /// Returns the text that follows the error's description: the error's own message, if it differs from the
    /// description, and the caller's. Nil if there is neither.
    static func detail(_ error: any Error, _ message: String?) -> String? {
        var parts: [String] = []
        if let own = (error as? any ReportableError)?.message, own != TypeName.withoutContexts("\(error)"),
            own != ErrorTypeInfo.of(error).text(of: error)
        {
            parts.append(own)
        }
        if let message, !message.isEmpty { parts.append(message) }
        return parts.isEmpty ? nil : parts.joined(separator: ": ")
    }
}

/// Runs an operation with other reporters.
///
/// ```swift
/// withIssueReporters([]) {
///     // Issues that are reported here reach no reporter.
/// }
/// ```
///
/// - Parameters:
///   - reporters: The reporters for the operation. Empty for none; responders still receive issues.
///   - operation: The operation to run.
/// - Returns: The value that the operation returns.
/// - Throws: The error that the operation throws.
public func withIssueReporters<R>(_ reporters: [any IssueReporter], operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.replacingReporters(with: reporters), operation: operation)
}

/// Runs an asynchronous operation with other reporters.
///
/// This is the asynchronous version of `withIssueReporters`.
public func withIssueReporters<R>(
    _ reporters: [any IssueReporter], operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.replacingReporters(with: reporters), operation: operation)
}

extension ReportingScope {
    /// Returns the current scope with other reporters.
    static func replacingReporters(with reporters: [any IssueReporter]) -> Box {
        changed {
            $0.reporters = ReporterBox(reporters)
            // If a reporter sets other reporters, they receive the issues that it reports.
            $0.reportingBox = nil
        }
    }
}

internal import Synchronization

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

    private static let applicationBox = Mutex<ApplicationSnapshot?>(nil)
    private static let defaultApplication = ApplicationSnapshot(IssueApplication())

    /// The properties of the application. Each issue includes them.
    public static var application: IssueApplication {
        get { applicationSnapshot.info }
        set {
            let snapshot = ApplicationSnapshot(newValue)
            applicationBox.withLock { $0 = snapshot }
        }
    }

    static var applicationSnapshot: ApplicationSnapshot {
        applicationBox.withLock { $0 } ?? defaultApplication
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

/// A thread-safe list of reporters.
final class ReporterBox: Sendable {
    /// The reporters outside of all scopes.
    static let process: ReporterBox = {
        let box = ReporterBox(ProcessSettings.shared.reporters)
        processKind.store(box.kind.load(ordering: .relaxed), ordering: .releasing)
        return box
    }()
    // Separate from the box, so that a report without reporters is cheap: accessing the box costs more.
    private static let processKind = Atomic(Kind.others)

    /// Whether there are no reporters outside of all scopes. `false` until ``process`` is used for the first time.
    static var isProcessEmpty: Bool { processKind.load(ordering: .acquiring) == .none }

    private let storage: Mutex<[any IssueReporter]>

    // Separate from the list, so that a report need not lock the list if there are no reporters or only the daemon's.
    private let kind: Atomic<Kind>

    private enum Kind: UInt8, AtomicRepresentable {
        case none
        case daemonOnly
        case others

        init(_ reporters: [any IssueReporter]) {
            guard !reporters.isEmpty else {
                self = .none
                return
            }
            let isDaemon = reporters.allSatisfy { ($0 as? DaemonReporter)?.isOfProcess == true }
            self = isDaemon ? .daemonOnly : .others
        }
    }

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
        kind = Atomic(Kind(reporters))
    }

    var isEmpty: Bool { kind.load(ordering: .acquiring) == .none }

    /// Whether all reports go to the shared delivery of the process, and nowhere else.
    var isDaemonOnly: Bool { kind.load(ordering: .acquiring) == .daemonOnly }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is released outside the lock, because the deinit of a reporter may report an issue.
            var list = newValue
            let newKind = Kind(newValue)
            storage.withLock {
                swap(&$0, &list)
                kind.store(newKind, ordering: .releasing)
                if self === Self.process { Self.processKind.store(newKind, ordering: .releasing) }
            }
        }
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

extension IssueReporters {
    /// A closure that can change or withhold each report before it is sent to the daemon. Nil by default.
    ///
    /// ```swift
    /// IssueReporters.beforeSend = { report in
    ///     var report = report
    ///     report.metadata["card"] = nil
    ///     return report
    /// }
    /// ```
    ///
    /// To withhold a report, return nil. The metadata of the next report that is sent contains the number of withheld
    /// ones as `withheld_before`. Only the daemon receives the changed report. The closure is called on the reporting
    /// thread, so it must not block.
    public static var beforeSend: (@Sendable (IssueReport) -> IssueReport?)? {
        get { SendGate.process.beforeSend }
        set { SendGate.process.beforeSend = newValue }
    }

    /// The fraction of reports that is sent to the daemon for each level, from 0 to 1. All reports of a level without a
    /// value are sent.
    ///
    /// The metadata of the next report that is sent contains the number of omitted ones as `sampled_out_before`. A
    /// report with a receipt is never omitted.
    public static var sampling: [IssueLevel: Double] {
        get { SendGate.process.sampling }
        set { SendGate.process.sampling = newValue }
    }
}

/// Decides which reports are sent to the daemon, and can change them.
package final class SendGate: Sendable {
    package typealias BeforeSend = @Sendable (IssueReport) -> IssueReport?

    /// The decision about a report.
    package enum Decision: Sendable {
        case send(IssueReport)
        case withheld
        case sampledOut
    }

    /// The gate of the process.
    package static let process = SendGate(level: ProcessSettings.shared.level)

    private struct Rules: Sendable {
        var beforeSend: BeforeSend?
        var sampling: [IssueLevel: Double] = [:]
    }

    private let rules = Mutex(Rules())
    // Separate from the rules, so that a report takes no lock in an application without any.
    private let hasRules: Atomic<Bool>
    private let level: IssueLevel

    /// Creates a gate that withholds reports below a level, except those with a receipt.
    package init(level: IssueLevel = .debug) {
        self.level = level
        hasRules = Atomic(level > .debug)
    }

    /// Whether every report is sent unchanged.
    var isOpen: Bool { !hasRules.load(ordering: .acquiring) }

    package var beforeSend: BeforeSend? {
        get { rules.withLock { $0.beforeSend } }
        set { change { $0.beforeSend = newValue } }
    }

    package var sampling: [IssueLevel: Double] {
        get { rules.withLock { $0.sampling } }
        set { change { $0.sampling = newValue } }
    }

    private func change(_ change: (inout Rules) -> Void) {
        // The old rules are released outside the lock, since the deinit of an object they hold may report an issue.
        _ = rules.withLock { rules in
            let old = rules
            change(&rules)
            let hasAny = level > .debug || rules.beforeSend != nil || !rules.sampling.isEmpty
            hasRules.store(hasAny, ordering: .releasing)
            return old
        }
    }

    /// Decides whether a report is sent, and applies ``beforeSend``.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - isSampled: `true` if the report has no receipt. The minimum level and the sampling apply only then.
    ///   - chance: A random number from 0 up to, but not including, 1.
    /// - Returns: The decision, with the report to send.
    package func evaluate(
        _ report: IssueReport, isSampled: Bool, chance: @autoclosure () -> Double
    ) -> Decision {
        if isSampled, report.level < level { return .withheld }
        let rules = rules.withLock { $0 }
        if isSampled, let rate = rules.sampling[report.level], chance() >= rate { return .sampledOut }
        guard let beforeSend = rules.beforeSend else { return .send(report) }
        // Issues that the closure itself reports must not be passed to the closure again.
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { beforeSend(report).map { .send($0) } ?? .withheld }
    }
}

/// The numbers of reports that were not sent and that no later report has mentioned yet.
struct UnsentCount: Sendable {
    var withheld = 0
    var sampledOut = 0

    /// Whether any of the numbers is not zero.
    var hasCounts: Bool { withheld > 0 || sampledOut > 0 }

    /// Adds the numbers to the metadata of a report.
    func add(to report: inout IssueReport) {
        if withheld > 0 { report.metadata.setReserved(.withheldBefore, to: .init(withheld)) }
        if sampledOut > 0 { report.metadata.setReserved(.sampledOutBefore, to: .init(sampledOut)) }
    }

    static func += (left: inout UnsentCount, right: UnsentCount) {
        left.withheld += right.withheld
        left.sampledOut += right.sampledOut
    }
}

extension IssueMetadata.Key {
    /// The number of reports that were withheld since the last report that was sent.
    static let withheldBefore: Self = "withheld_before"
    /// The number of reports that were omitted by sampling since the last report that was sent.
    static let sampledOutBefore: Self = "sampled_out_before"
}

internal import Synchronization

/// Something that is told of issues as they are reported.
///
/// The requirements are those of swift-issue-reporting 2.0; a reporter written
/// for it works unchanged. A reporter that wants all there is to know, such as
/// level and metadata, conforms to ``IssueSink`` instead.
public protocol IssueReporter: Sendable {
    /// Reports an issue.
    func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports a caught error.
    func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue that was expected.
    func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)

    /// Reports a caught error that was expected.
    func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt)

    /// Reports an issue without saying how serious it is.
    ///
    /// There for reporters of old; new ones implement the form with a severity.
    func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt)
}

extension IssueReporter {
    /// Reports the error's description as a message.
    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        reportIssue(
            CaughtError.text(error, message()), severity: .error, fileID: fileID, filePath: filePath, line: line,
            column: column)
    }

    /// Does nothing.
    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {}

    /// Reports the error's description as an expected issue.
    public func expectIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        expectIssue(
            CaughtError.text(error, message()), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports an issue as an error.
    public func reportIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        reportIssue(
            message(), severity: .error, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}

/// Who is told of the issues that are reported.
public enum IssueReporters {
    /// The reporters in force here; `[.default]` at first.
    ///
    /// Assigning changes the innermost
    /// `withIssueReporters` around the assignment,
    /// or the whole process where there is none.
    public static var current: [any IssueReporter] {
        get { ReportingScope.current.reporters.reporters }
        set { ReportingScope.current.reporters.reporters = newValue }
    }

    private static let applicationBox = Mutex<ApplicationSnapshot?>(nil)

    /// What the application says of itself with each issue.
    public static var application: ApplicationInfo {
        get { applicationSnapshot.info }
        set {
            let snapshot = ApplicationSnapshot(newValue)
            applicationBox.withLock { $0 = snapshot }
        }
    }

    static var applicationSnapshot: ApplicationSnapshot {
        if let snapshot = applicationBox.withLock({ $0 }) { return snapshot }
        // Made outside the lock, since it asks the kernel.
        let made = ApplicationSnapshot(ApplicationInfo())
        return applicationBox.withLock { snapshot in
            if let snapshot { return snapshot }
            snapshot = made
            return made
        }
    }
}

/// A reporter that is given each issue as one value, with all that is known.
///
/// ```swift
/// struct Counter: IssueSink {
///     func receive(_ report: IssueReport) { issues.increment(by: 1) }
/// }
/// ```
public protocol IssueSink: IssueReporter {
    /// Takes an issue. Called on the thread that reports, so it must not wait.
    func receive(_ report: IssueReport)
}

extension IssueSink {
    /// Hands the issue to ``receive(_:)``.
    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                note: message(), level: IssueLevel(severity), metadata: [:],
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }

    /// Hands the error to ``receive(_:)``.
    public func reportIssue(
        _ error: any Error, _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        receive(
            IssueReport(
                error: error, note: message(), level: .error, metadata: [:],
                site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)))
    }
}

/// A list of reporters that can be replaced while others read it.
final class ReporterBox: Sendable {
    /// What holds outside all scopes.
    static let process: ReporterBox = {
        let box = ReporterBox(ProcessSettings.shared.reporters)
        processKind.store(box.kind.load(ordering: .relaxed), ordering: .releasing)
        return box
    }()
    // Apart from the box, which to reach costs more than a report for nobody should.
    private static let processKind = Atomic(Kind.others)

    /// Whether nobody is told outside all scopes.
    static var isProcessEmpty: Bool { processKind.load(ordering: .acquiring) == .none }

    private let storage: Mutex<[any IssueReporter]>

    // Apart, so that a report for nobody takes no lock, and one for the daemon few.
    private let kind: Atomic<Kind>

    private enum Kind: UInt8, AtomicRepresentable {
        case none
        case daemonAlone
        case others

        init(_ reporters: [any IssueReporter]) {
            guard !reporters.isEmpty else {
                self = .none
                return
            }
            let isDaemon = reporters.allSatisfy { ($0 as? DaemonReporter)?.isOfProcess == true }
            self = isDaemon ? .daemonAlone : .others
        }
    }

    init(_ reporters: [any IssueReporter]) {
        storage = Mutex(reporters)
        kind = Atomic(Kind(reporters))
    }

    var isEmpty: Bool { kind.load(ordering: .acquiring) == .none }

    /// Whether the process's own way to the daemon is all there is.
    var areDaemonAlone: Bool { kind.load(ordering: .acquiring) == .daemonAlone }

    var reporters: [any IssueReporter] {
        get { storage.withLock { $0 } }
        set {
            // The old list is let go outside the lock: a reporter's deinit may report.
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

/// How a caught error reads where only a message can be given.
enum CaughtError {
    static func text(_ error: any Error, _ message: String?) -> String {
        guard let words = words(error, message) else { return "Caught error: \(error)" }
        return "Caught error: \(error): \(words)"
    }

    /// What is said beside the error's description: the message that its author has written, and the caller's.
    static func words(_ error: any Error, _ message: String?) -> String? {
        var words: [String] = []
        if let own = (error as? any ReportableError)?.message, own != TypeName.withoutContexts("\(error)") {
            words.append(own)
        }
        if let message, !message.isEmpty { words.append(message) }
        return words.isEmpty ? nil : words.joined(separator: ": ")
    }
}

/// Which buffers one issue has entered.
///
/// It enters each once, however many reporters of the list lead there.
struct ReachedDeliveries {
    private var identities: [ObjectIdentifier] = []

    /// Notes a buffer; false when the issue is there already.
    mutating func insert(_ delivery: Delivery) -> Bool {
        let identity = ObjectIdentifier(delivery)
        guard !identities.contains(identity) else { return false }
        identities.append(identity)
        return true
    }
}

/// Replaces the reporters during an operation.
///
/// ```swift
/// withIssueReporters([]) {
///     // Issues in here are nobody's business.
/// }
/// ```
///
/// - Parameters:
///   - reporters: Who is told instead; an empty list silences.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueReporters<R>(_ reporters: [any IssueReporter], operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.telling(reporters), operation: operation)
}

/// Replaces the reporters during an asynchronous operation.
///
/// An asynchronous version of `withIssueReporters`.
///
/// - Parameters:
///   - reporters: Who is told instead; an empty list silences.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withIssueReporters<R>(
    _ reporters: [any IssueReporter], isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.telling(reporters), operation: operation)
}

extension ReportingScope {
    /// The scope here with other reporters.
    static func telling(_ reporters: [any IssueReporter]) -> Box {
        changed {
            $0.reporters = ReporterBox(reporters)
            // A reporter that names others wants them told.
            $0.reportingBox = nil
        }
    }
}

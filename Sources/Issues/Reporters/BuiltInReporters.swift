internal import IssueWire
internal import UnixIO

/// A reporter that fails the test in tests; otherwise it writes to standard error and to the daemon if it exists.
public struct _DefaultReporter: IssueSink {
    init() {}

    public func receive(_ report: IssueReport) {
        var reached: Set<ObjectIdentifier> = []
        receive(report, reached: &reached)
    }

    func receive(_ report: IssueReport, reached: inout Set<ObjectIdentifier>) {
        guard !isTesting else {
            // A test sends nothing to the daemon, unless it uses the daemon's reporter explicitly.
            if !TestFailure.record(report) { StandardErrorLine.write(report) }
            return
        }
        if report.level >= ProcessSettings.shared.level { StandardErrorLine.writeUnlessRepeated(report) }
        guard Delivery.current.isExpectedToWork else { return }
        DaemonReporter().receive(report, reached: &reached)
    }

    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        let text = message().flatMap { $0.isEmpty ? nil : $0 } ?? IssueReport.defaultMessage
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        StandardErrorLine.write("\(site): expected: \(text)")
    }
}

extension IssueReporter where Self == _DefaultReporter {
    /// A reporter that writes a line to standard error and sends the issue to the daemon if its socket exists.
    ///
    /// Of similar lines from one source location it writes ten at once and then one per second, with the number of
    /// those that it left out. All issues are sent.
    ///
    /// In tests it fails the test instead, and sends nothing to the daemon. An issue that no test library can record is
    /// written to standard error. This includes warnings under XCTest, which does not support them.
    public static var `default`: Self { Self() }

    /// The name of the default reporter in version 1 of swift-issue-reporting.
    @available(*, deprecated, renamed: "default")
    public static var runtimeWarning: Self { Self() }
}

/// A reporter that sends issues to the daemon of this host.
///
/// It only adds an issue to a buffer and never waits. The buffer has a maximum size. It keeps issues until the daemon
/// has answered them, also while the daemon is not running.
public struct DaemonReporter: IssueSink {
    private let ownDelivery: Delivery?

    init() {
        ownDelivery = nil
    }

    /// Creates a reporter with a separate buffer and connection.
    package init(delivery: Delivery) {
        ownDelivery = delivery
    }

    /// Whether the reporter uses the shared delivery of the process.
    var isOfProcess: Bool { ownDelivery == nil }

    private var delivery: Delivery {
        ownDelivery?.ofThisProcess ?? Delivery.current
    }

    /// Submits an issue and returns a receipt.
    ///
    /// The function does not wait for the daemon. A report with a receipt is not subject to
    /// ``IssueReporters/sampling``.
    ///
    /// - Parameter report: The issue.
    /// - Returns: A receipt to wait for the outcome.
    @discardableResult
    public func submit(_ report: IssueReport) -> IssueReceipt {
        let state = ReceiptState()
        delivery.submit(report, receipt: state)
        return IssueReceipt(state: state)
    }

    public func receive(_ report: IssueReport) {
        delivery.submit(report)
    }

    func receive(_ report: IssueReport, reached: inout Set<ObjectIdentifier>) {
        let delivery = delivery
        guard reached.insert(ObjectIdentifier(delivery)).inserted else { return }
        delivery.submit(report)
    }
}

extension IssueReporter where Self == DaemonReporter {
    /// A reporter that sends issues to the daemon of this host.
    ///
    /// It tries the socket of the user's own daemon first, and then the system's. The environment variable
    /// `ISSUED_SOCKET` replaces both; if it is empty, nothing is sent.
    public static var daemon: Self { Self() }
}

/// A reporter that stops in the debugger at each issue.
public struct _BreakpointReporter: IssueSink {
    init() {}

    public func receive(_ report: IssueReport) {
        StandardErrorLine.write(report)
        guard Self.isTraced else { return }
        try? Signal(rawValue: 5).send(to: CurrentProcess.pid)
    }

    private static var isTraced: Bool {
        guard let status = try? FileSystem.read("/proc/self/status", limit: 16 * 1024) else { return false }
        let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
        guard let tracer = lines.first(where: { $0.hasPrefix("TracerPid:") }) else { return false }
        return !tracer.hasSuffix("\t0")
    }
}

extension IssueReporter where Self == _BreakpointReporter {
    /// A reporter that stops in the debugger at each issue. Without a debugger it only writes a line.
    public static var breakpoint: Self { Self() }
}

/// A reporter that ends the process at the first issue, with a message that includes its location.
public struct _FatalErrorReporter: IssueReporter {
    init() {}

    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        ShutdownFlush.run()
        Swift.fatalError(
            TerminalSanitizer.line(message().map(RedactionHook.text) ?? "Issue reported"), file: filePath, line: line)
    }
}

extension IssueReporter where Self == _FatalErrorReporter {
    /// A reporter that ends the process at the first issue.
    public static var fatalError: Self { Self() }
}

internal import IssueWire
internal import UnixIO

/// Fails the test in tests; elsewhere says issues on standard error, and to the daemon if there is one.
public struct _DefaultReporter: IssueSink {
    init() {}

    /// Fails the test in tests; elsewhere says the issue on standard error, and to the daemon if there is one.
    public func receive(_ report: IssueReport) {
        var reached = ReachedDeliveries()
        receive(report, reached: &reached)
    }

    func receive(_ report: IssueReport, reached: inout ReachedDeliveries) {
        guard !isTesting else {
            // A test pages nobody, unless it asks for the daemon by name.
            if !TestFailure.record(report) { StandardErrorLine.write(report) }
            return
        }
        if report.level >= ProcessSettings.shared.level { StandardErrorLine.write(report) }
        guard Delivery.current.isExpectedToWork else { return }
        DaemonReporter().receive(report, reached: &reached)
    }

    /// Says the issue on standard error.
    public func expectIssue(
        _ message: @autoclosure () -> String?, fileID: StaticString, filePath: StaticString, line: UInt, column: UInt
    ) {
        let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
        StandardErrorLine.write(expected: message(), at: site)
    }
}

extension IssueReporter where Self == _DefaultReporter {
    /// A line on standard error, and the daemon where its socket exists; in tests a failure of the test.
    ///
    /// In tests nothing is sent. What no test library can be told is written to
    /// standard error: a warning under XCTest, which knows none, too.
    public static var `default`: Self { Self() }

    /// What version 1 of swift-issue-reporting called the default.
    @available(*, deprecated, renamed: "default")
    public static var runtimeWarning: Self { Self() }
}

/// Hands issues to the daemon of this host.
///
/// It takes an issue at once and never waits. A buffer of bounded size keeps
/// what the daemon has not answered yet, through its absence too.
public struct DaemonReporter: IssueSink {
    private let ownDelivery: Delivery?

    init() {
        ownDelivery = nil
    }

    /// A reporter with a buffer and a connection of its own.
    package init(delivery: Delivery) {
        ownDelivery = delivery
    }

    /// Whether it is the one that all share.
    var isOfProcess: Bool { ownDelivery == nil }

    private var delivery: Delivery {
        ownDelivery?.ofThisProcess ?? Delivery.current
    }

    /// Takes an issue, and promises an answer.
    ///
    /// - Parameter report: The issue.
    /// - Returns: A receipt to ask what became of it.
    @discardableResult
    public func submit(_ report: IssueReport) -> Receipt {
        let state = ReceiptState()
        delivery.submit(report, receipt: state)
        return Receipt(state: state)
    }

    /// Takes an issue without a receipt.
    public func receive(_ report: IssueReport) {
        delivery.submit(report)
    }

    func receive(_ report: IssueReport, reached: inout ReachedDeliveries) {
        let delivery = delivery
        guard reached.insert(delivery) else { return }
        delivery.submit(report)
    }
}

extension IssueReporter where Self == DaemonReporter {
    /// The daemon of this host.
    ///
    /// Its socket is `ISSUED_SOCKET` of the environment, then the user's own
    /// daemon's, then the system's. An empty `ISSUED_SOCKET` switches it off.
    public static var daemon: Self { Self() }
}

/// Stops in the debugger at each issue, where there is a debugger.
public struct _BreakpointReporter: IssueSink {
    init() {}

    /// Says the issue on standard error and stops if the process is being traced.
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
    /// A reporter that stops in the debugger; without one it prints a line.
    public static var breakpoint: Self { Self() }
}

/// Ends the process at the first issue.
public struct _FatalErrorReporter: IssueReporter {
    init() {}

    /// Ends the process with the message, at the place that reported it.
    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        ShutdownFlush.say()
        Swift.fatalError(TerminalSanitizer.line(message() ?? "Issue reported"), file: filePath, line: line)
    }
}

extension IssueReporter where Self == _FatalErrorReporter {
    /// A reporter that ends the process at the first issue.
    public static var fatalError: Self { Self() }
}

/// An issue as one line for whoever watches the process.
enum StandardErrorLine {
    /// The line, without its end.
    static func text(_ report: IssueReport) -> String {
        line(report, saying: report.error.map { CaughtError.text($0, report.note) } ?? report.message)
    }

    static func line(_ report: IssueReport, saying text: String) -> String {
        let metadata = report.metadata.isEmpty ? "" : " \(report.metadata)"
        return "\(report.site): \(report.level.rawValue): \(text)\(metadata)"
    }

    static func write(_ report: IssueReport) {
        write(text(report))
    }

    static func write(expected message: String?, at site: IssueSite) {
        let text = message.flatMap { $0.isEmpty ? nil : $0 } ?? IssueReport.defaultMessage
        write("\(site): expected: \(text)")
    }

    /// Writes the line in one piece, so that lines of several threads don't mix.
    ///
    /// A report may quote untrusted text, so line feeds and escape sequences in
    /// it are made harmless for logs and terminals.
    static func write(_ line: String) {
        // Nobody is left to be told when standard error itself is gone.
        try? StandardStream.error.writeAll("\(TerminalSanitizer.line(line))\n")
    }
}

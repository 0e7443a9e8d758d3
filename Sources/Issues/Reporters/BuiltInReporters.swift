internal import IssueWire
internal import Synchronization
package import UnixIO

/// A reporter that records the issue as a failure or warning of the running test. Outside tests, it writes an issue
/// of at least the level `ISSUED_LEVEL` to standard error, and sends it to the daemon if the daemon's socket exists or
/// existed at an earlier report.
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
    /// A reporter that writes a line to standard error and, if the daemon's socket exists or existed at an earlier
    /// report, sends the issue to the daemon.
    ///
    /// Issues below the level `ISSUED_LEVEL` are neither written nor sent. Of similar lines from one source location,
    /// it writes the first ten immediately and then one per second, with the number of omitted lines. This does not
    /// limit what is sent to the daemon.
    ///
    /// In tests, it instead fails the test or, if the level is ``IssueLevel/warning`` or lower, records a warning, and
    /// sends nothing to the daemon. An issue that no test library can record is written to standard error. This
    /// includes warnings under XCTest, which does not support them.
    public static var `default`: Self { Self() }

    /// The name of the default reporter in version 1 of swift-issue-reporting.
    @available(*, deprecated, renamed: "default")
    public static var runtimeWarning: Self { Self() }
}

/// A reporter that sends issues to the daemon of this host.
///
/// It only adds the issue to a buffer of limited size, and never waits for the daemon. Issues stay in the buffer until
/// the daemon has answered them, even while the daemon is not running. If the buffer is full, the least severe issues
/// are dropped.
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
    /// The function does not wait for the daemon. A report with a receipt is sent regardless of
    /// ``IssueReporters/sampling`` and of the minimum level `ISSUED_LEVEL`.
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
    /// A reporter that writes a line to standard error for each issue, and stops in the debugger, if there is one.
    public static var breakpoint: Self { Self() }
}

/// A reporter that ends the process at the first issue, with a message that includes the issue's location.
public struct _FatalErrorReporter: IssueReporter {
    init() {}

    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        ShutdownFlush.run()
        Swift.fatalError(
            TerminalSanitizer.line(message().map(RedactionHook.text) ?? IssueReport.defaultMessage), file: filePath,
            line: line)
    }
}

extension IssueReporter where Self == _FatalErrorReporter {
    /// A reporter that ends the process at the first issue.
    public static var fatalError: Self { Self() }
}

/// Writes issues as lines on standard error.
package enum StandardErrorLine {
    /// Returns the line for a report, without a newline at its end. The rules of redaction are applied, but the line is
    /// not sanitised.
    package static func text(_ report: IssueReport) -> String {
        let report = report.redacted
        return line(report, saying: message(of: report))
    }

    /// Returns the message of a report; for a failed assertion, with the kind of the assertion.
    private static func message(of report: IssueReport) -> String {
        guard let failure = report.error as? Reported.Failure else { return report.message }
        return RedactionHook.text([report.note, failure.description].compactMap(\.self).joined(separator: ": "))
    }

    static func line(_ report: IssueReport, saying text: String) -> String {
        let metadata = report.metadata.isEmpty ? "" : " \(report.metadata)"
        return "\(report.site): \(report.level.rawValue): \(text)\(metadata)"
    }

    static func write(_ report: IssueReport) {
        write(text(report))
    }

    /// Writes a line with a single call, so that lines of several threads do not mix.
    ///
    /// A report may contain untrusted text, so newlines and escape sequences in it are sanitised.
    static func write(_ line: String) {
        // If writing to standard error fails, there is no other place for the message.
        try? StandardStream.error.writeAll("\(TerminalSanitizer.line(line))\n")
    }
}

extension StandardErrorLine {
    private static let throttle = Mutex(LineThrottle())

    /// Writes a line for a report, unless many similar lines were written recently.
    static func writeUnlessRepeated(_ report: IssueReport) {
        let key = LineThrottle.Key(report)
        let now = MonotonicClock.now
        switch throttle.withLock({ $0.decide(key, at: now) }) {
        case .write(omitted: 0): write(report)
        case .write(let omitted): write("\(text(report)) (similar lines left out: \(omitted))")
        case .announce: write("\(report.site): further similar lines are left out, except for one per second")
        case .omit: break
        }
    }
}

/// Decides which lines are written when a loop reports the same issue again and again.
package struct LineThrottle: Sendable {
    package enum Decision: Equatable {
        /// The line is written. `omitted` similar lines were left out before it.
        case write(omitted: Int)
        /// The line is left out, and a note that lines are left out is written instead.
        case announce
        case omit
    }

    /// The hash of a file, a line, a level, and the template of a message. If there is no template, the start of the
    /// message without its digits is used instead.
    package struct Key: Hashable, Sendable {
        private let hash: Int

        package init(_ report: IssueReport) {
            var hasher = Hasher()
            hasher.combine(report.site.file)
            hasher.combine(report.site.line)
            hasher.combine(report.level)
            if let template = report.template {
                hasher.combine(template)
            } else {
                // A loop usually varies a number.
                for byte in report.message.utf8.prefix(256) where !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte) {
                    hasher.combine(byte)
                }
            }
            hash = hasher.finalize()
        }
    }

    private struct Source {
        /// The number of lines that may be written now.
        var allowance = LineThrottle.burst
        /// The time up to which the allowance was refilled.
        var refilled: KernelInstant
        var omitted = 0
        /// Whether a note about omitted lines was written since the allowance was last full.
        var isAnnounced = false
    }

    /// The number of similar lines that may be written in quick succession.
    static let burst = 10
    /// The time after which one more line may be written.
    static let interval: Duration = .seconds(1)
    /// The maximum number of keys to remember.
    static let sourceLimit = 128

    private var sources: [Key: Source] = [:]

    package init() {}

    /// Returns what to do with a line.
    ///
    /// - Parameters:
    ///   - key: The key of the line's report.
    ///   - now: The current time.
    package mutating func decide(_ key: Key, at now: KernelInstant) -> Decision {
        if sources[key] == nil { makeRoom(at: now) }
        var source = sources[key] ?? Source(refilled: now)
        defer { sources[key] = source }
        let periods = Int(source.refilled.duration(to: now) / Self.interval)
        if periods > 0 {
            source.allowance = min(source.allowance + periods, Self.burst)
            source.refilled = now
            if source.allowance == Self.burst { source.isAnnounced = false }
        }
        guard source.allowance > 0 else {
            source.omitted += 1
            defer { source.isAnnounced = true }
            return source.isAnnounced ? .omit : .announce
        }
        source.allowance -= 1
        defer { source.omitted = 0 }
        return .write(omitted: source.omitted)
    }

    /// If the maximum number of keys is reached, forgets the idle ones. If none is idle, forgets all keys.
    private mutating func makeRoom(at now: KernelInstant) {
        guard sources.count >= Self.sourceLimit else { return }
        sources = sources.filter { $0.value.refilled.duration(to: now) < Self.interval * Self.burst }
        if sources.count >= Self.sourceLimit { sources = [:] }
    }
}

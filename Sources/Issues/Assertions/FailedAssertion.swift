internal import IssueWire

/// An assertion that did not hold, on its way to be reported.
struct FailedAssertion {
    let kind: AssertionFailure.Kind
    let message: String
    private let site: IssueSite

    /// The message for standard error, made harmless since Swift writes it verbatim.
    var harmlessMessage: String { HarmlessText.line(message) }

    init(
        _ kind: AssertionFailure.Kind, _ message: String, _ fileID: StaticString, _ filePath: StaticString,
        _ line: UInt, _ column: UInt
    ) {
        self.kind = kind
        self.message = message
        site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    }

    func report(_ level: IssueLevel) -> ReportOutcome {
        let reason = message.isEmpty ? "no reason" : message
        let error = AssertionFailure(kind: kind, message: reason, name: site.name)
        return Reporting.report(error, { nil }, level: level, metadata: { [:] }, at: site)
    }

    /// Whether Swift's `assert` does anything in this build.
    static var traps: Bool { _isDebugAssertConfiguration() }

    /// Gives the report a moment to get out, since the process is about to end.
    func flush() {
        LastWords.say()
    }
}

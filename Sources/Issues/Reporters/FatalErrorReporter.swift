internal import IssueWire

/// Ends the process at the first issue.
public struct _FatalErrorReporter: IssueReporter {
    init() {}

    /// Ends the process with the message, at the place that reported it.
    public func reportIssue(
        _ message: @autoclosure () -> String?, severity: IssueSeverity, fileID: StaticString, filePath: StaticString,
        line: UInt, column: UInt
    ) {
        LastWords.say()
        Swift.fatalError(HarmlessText.line(message() ?? "Issue reported"), file: filePath, line: line)
    }
}

extension IssueReporter where Self == _FatalErrorReporter {
    /// A reporter that ends the process at the first issue.
    public static var fatalError: Self { Self() }
}

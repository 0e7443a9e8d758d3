import IssueReporting

/// Measures laps.
public struct Stopwatch {
    /// Returns the time that has passed. The default closure reports an issue: an application must set its own.
    public var read: @Sendable () -> Int

    public init(read: @escaping @Sendable () -> Int = unimplemented("Stopwatch.read", placeholder: 0)) {
        self.read = read
    }

    public func stop(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard read() < 0 else { return }
        IssueReporting.reportIssue(
            "The stopwatch runs backwards", fileID: fileID, filePath: filePath, line: line, column: column)
    }
}

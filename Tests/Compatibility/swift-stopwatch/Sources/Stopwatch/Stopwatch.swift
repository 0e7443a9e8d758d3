import IssueReporting

/// Measures laps.
public struct Stopwatch {
    /// Returns the time that has passed. By default it reports that the application has not set it.
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

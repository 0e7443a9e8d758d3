/// Turns a report into a failure of the test that runs.
enum TestFailure {
    /// Records the report, or answers false if no test library could be told.
    static func record(_ report: IssueReport) -> Bool {
        let isWarning = report.level.severity == .warning
        if TestRun.usesSwiftTesting {
            if let error = report.error, !isWarning {
                return TestingLibrary.record(error, CaughtError.words(error, words(of: report)), at: report.site)
            }
            return TestingLibrary.record(text(of: report), isWarning: isWarning, at: report.site)
        }
        // XCTest knows no warnings, and a warning fails no test.
        guard !isWarning else { return false }
        return XCTestLibrary.fail(text(of: report) ?? "", at: report.site)
    }

    /// All that is said, the error's words included.
    private static func text(of report: IssueReport) -> String? {
        guard let error = report.error else { return words(of: report) }
        return CaughtError.text(error, words(of: report))
    }

    /// What the caller said; nil if that is nothing.
    private static func words(of report: IssueReport) -> String? {
        let words = report.error == nil ? report.ownMessage : report.note
        guard !report.metadata.isEmpty else { return words }
        return [words, report.metadata.description].compactMap(\.self).joined(separator: " ")
    }
}

extension IssueReport {
    /// The message, unless nobody gave one.
    fileprivate var ownMessage: String? {
        note == nil && message == Self.wordless ? nil : message
    }
}

extension ErrorResponder {
    /// Ends everything that gets here: no report, and no trap of an assertion that Swift's would let live in a release
    /// build.
    ///
    /// For a program's tests of what it does when it is misused:
    /// `ErrorResponders.root = [.discard]`.
    public static var discard: Self {
        Self(respond: { _ in .discarded })
    }

    /// Traps in a debug build where an error gets here, or a message of level `error` or worse, after the reporters
    /// were told; milder messages climb on.
    public static var trapUnhandled: Self {
        Self { report in
            guard report.report.error != nil || report.report.level >= .error else { return .notHandled }
            report.tellReporters()
            if FailedAssertion.traps { LastWords.say() }
            let site = report.report.site
            Swift.assertionFailure("Unhandled error: \(report.report.message)", file: site.filePath, line: site.line)
            return .handled
        }
    }

    /// Writes a line about every error that gets here, which then climbs on.
    ///
    /// - Parameter write: Takes the line, without a newline at its end.
    public static func log(_ write: @escaping @Sendable (String) -> Void) -> Self {
        Self { report in
            write(StandardErrorLine.text(report.report))
            return .notHandled
        }
    }
}

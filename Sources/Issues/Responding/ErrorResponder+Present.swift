internal import IssueWire

extension ErrorResponder {
    /// Tells the reporters, then asks people what to do, and does it.
    ///
    /// An error that has nothing to tell people climbs on. One whose recovery is
    /// ``Recovery/terminate`` ends the process when it has been shown;
    /// responders further inside have cleaned up by then.
    public static func present(on presenter: any Presenter) -> Self {
        Self { report in
            guard let prompt = Prompt(report.error) else { return .notHandled }
            report.tellReporters()
            presenter.choose(prompt).handler()
            if case .terminate? = (report.error as? any ReportableError)?.recovery {
                LastWords.say()
                Swift.fatalError(
                    HarmlessText.line(report.report.message), file: report.report.site.filePath,
                    line: report.report.site.line)
            }
            return .handled
        }
    }
}

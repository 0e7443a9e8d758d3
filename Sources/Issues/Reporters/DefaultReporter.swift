/// Says issues on standard error and, outside tests, to the daemon if there is one.
public struct _DefaultReporter: CollectorSink {
    init() {}

    func receive(_ report: IssueReport, reached: inout [ObjectIdentifier]) {
        StandardErrorLine.write(report)
        // A test pages nobody, unless it asks for the daemon by name.
        guard !TestProcess.isCurrent else { return }
        let delivery = Delivery.current
        guard delivery.isExpectedToWork else { return }
        DaemonReporter().receive(report, reached: &reached)
    }
}

extension IssueReporter where Self == _DefaultReporter {
    /// A line on standard error, and the daemon where its socket exists.
    ///
    /// In tests nothing is sent.
    public static var `default`: Self { Self() }
}

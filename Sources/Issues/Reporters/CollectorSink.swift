/// A sink that may lead to the daemon.
///
/// An issue enters a daemon's buffer once, however many reporters of the list
/// lead there.
protocol CollectorSink: IssueSink {
    /// Takes an issue, unless it has reached the same buffer before.
    func receive(_ report: IssueReport, reached: inout [ObjectIdentifier])
}

extension CollectorSink {
    /// Takes an issue on its own.
    public func receive(_ report: IssueReport) {
        var reached: [ObjectIdentifier] = []
        receive(report, reached: &reached)
    }
}

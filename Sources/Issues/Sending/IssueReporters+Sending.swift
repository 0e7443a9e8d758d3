extension IssueReporters {
    /// Looks at each report before it goes to the daemon, and may change or withhold it.
    ///
    /// ```swift
    /// IssueReporters.beforeSend = { report in
    ///     var report = report
    ///     report.metadata["card"] = nil
    ///     return report
    /// }
    /// ```
    ///
    /// Other reporters hear of it as it was. Called on the thread that
    /// reports, so it must not wait. How many were withheld, by nil, stands as
    /// `withheld_before` in the next one that goes.
    public static var beforeSend: (@Sendable (IssueReport) -> IssueReport?)? {
        get { SendingGate.process.beforeSend }
        set { SendingGate.process.beforeSend = newValue }
    }

    /// Which share of a level's reports goes to the daemon, from 0 to 1; all of a level that is not named.
    ///
    /// How many were left out stands as `sampled_out_before` in the next one
    /// that goes. A report with a receipt always goes.
    public static var sampling: [IssueLevel: Double] {
        get { SendingGate.process.sampling }
        set { SendingGate.process.sampling = newValue }
    }
}

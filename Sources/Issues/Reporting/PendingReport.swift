/// A report in the making: each closure of the caller is evaluated at most once.
struct PendingReport {
    let error: (any Error)?
    let level: IssueLevel
    let site: IssueSite
    private var text: String??
    private var whole: IssueReport?

    init(error: (any Error)?, level: IssueLevel, site: IssueSite) {
        self.error = error
        self.level = level
        self.site = site
    }

    mutating func text(_ message: () -> String?) -> String? {
        if let text { return text }
        let evaluated = message()
        text = .some(evaluated)
        return evaluated
    }

    mutating func report(_ message: () -> String?, _ metadata: () -> IssueMetadata) -> IssueReport {
        if let whole { return whole }
        let report = IssueReport(error: error, note: text(message), level: level, metadata: metadata(), site: site)
        whole = report
        return report
    }
}

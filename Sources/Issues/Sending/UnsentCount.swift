/// How many reports were not sent, and are not told of yet.
struct UnsentCount: Sendable {
    var withheld = 0
    var sampledOut = 0

    /// Whether there is something to tell.
    var isTelling: Bool { withheld > 0 || sampledOut > 0 }

    /// Has a report that is about to go tell of them.
    mutating func tell(in report: inout IssueReport) {
        if withheld > 0 { report.metadata.setOwn(.withheldBefore, to: .init(withheld)) }
        if sampledOut > 0 { report.metadata.setOwn(.sampledOutBefore, to: .init(sampledOut)) }
        self = UnsentCount()
    }

    /// Takes back what a report would have told, since it will not go after all.
    mutating func takeBack(from report: IssueReport) {
        withheld += report.metadata[.withheldBefore]?.integer ?? 0
        sampledOut += report.metadata[.sampledOutBefore]?.integer ?? 0
    }
}

extension IssueMetadata.Key {
    /// How many reports were withheld since the last one that went.
    static let withheldBefore: Self = "withheld_before"
    /// How many reports were left out by sampling since the last one that went.
    static let sampledOutBefore: Self = "sampled_out_before"
}

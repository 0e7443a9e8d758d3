import IssueCore

extension ConfigurationTable {
    /// The limits of what goes to a destination, which each may have for itself.
    static let admission: [ConfigurationKey<LimitSettings>] = [
        .init("GroupBurst", \.groupBurst, burst, default: "5", "Records of one issue at once."),
        .init("GroupRefill", \.groupRefill, .rate, default: "1/5min", "How fast that fills again."),
        .init("ApplicationBurst", \.applicationBurst, burst, default: "100", "Records of one application at once."),
        .init("ApplicationRefill", \.applicationRefill, .rate, default: "60/min", "How fast that fills again."),
        .init(
            "GlobalBurst", \.globalBurst, burst, default: "300", "Records of this host at once, shared among its users."
        ),
        .init("GlobalRefill", \.globalRefill, .rate, default: "300/min", "How fast that fills again."),
    ]

    /// What is guarded where records come in, whatever the destination.
    static let guards: [ConfigurationKey<LimitSettings>] = [
        .init(
            "NewGroupsPerApplication", \.newGroupsPerApplication, .rate, default: "100/15min",
            "New issues; what is above joins the group overflow."),
        .init(
            "NewSeriesPerApplication", \.newSeriesPerApplication, .rate, default: "1000/15min", "New kinds of record."),
        .init(
            "ApplicationsPerUser", \.applicationsPerUser, .count(1...1_000_000, zero: "no limit"), default: "50",
            "Names of applications that one user may claim."),
    ]

    static let reserves: [ConfigurationKey<LimitSettings>] = [
        .init(
            "CriticalReserve", \.criticalReserve, .share(0...99), default: "20%",
            "Share that only critical records use."),
        .init("SummaryReserve", \.summaryReserve, .share(0...99), default: "10%", "Share that only summaries use."),
        .init(
            "NoveltyReserve", \.noveltyReserve, .share(0...99), default: "20%",
            "Share that only issues seen for the first time use."),
        .init(
            "SummaryInterval", \.summaryInterval, .duration(.seconds(1)...(.seconds(86_400))), default: "60s",
            "When what was held back is told first."),
        .init(
            "SummaryIntervalMax", \.summaryIntervalMax, .duration(.seconds(1)...(.seconds(86_400))),
            default: "15min", "The longest time between two summaries."),
    ]

    static let limits = admission + guards + reserves

    /// `[Limits NAME]`; empty where nothing else is said.
    static let application: [ConfigurationKey<ApplicationLimitOverride>] = [
        .init(optional: "User", \.uid, .user, default: "", "Whose application is meant."),
        .init(optional: "GroupBurst", \.groupBurst, burst, default: "", "Records of one issue at once."),
        .init(optional: "GroupRefill", \.groupRefill, .rate, default: "", "How fast that fills again."),
        .init(optional: "ApplicationBurst", \.applicationBurst, burst, default: "", "Its records at once."),
        .init(optional: "ApplicationRefill", \.applicationRefill, .rate, default: "", "How fast that fills again."),
    ]

    private static let burst: ValueForm<Int64> = .count(1...1_000_000_000, zero: "no limit")
}

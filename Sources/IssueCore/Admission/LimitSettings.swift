/// How much goes to one destination, and how many names and groups are taken at all (`[Limits]`).
///
/// A burst, a rate or a number of zero takes that limit away.
package struct LimitSettings: Hashable, Sendable {
    package var groupBurst: Int64 = 5
    package var groupRefill = Rate(1, per: .seconds(300))
    package var applicationBurst: Int64 = 100
    package var applicationRefill = Rate(60, per: .seconds(60))
    package var globalBurst: Int64 = 300
    package var globalRefill = Rate(300, per: .seconds(60))
    package var newGroupsPerApplication = Rate(100, per: .seconds(900))
    package var newSeriesPerApplication = Rate(1000, per: .seconds(900))
    package var applicationsPerUser: Int64 = 50
    package var criticalReserve = Share(percent: 20)
    package var summaryReserve = Share(percent: 10)
    package var noveltyReserve = Share(percent: 20)
    package var summaryInterval: Duration = .seconds(60)
    package var summaryIntervalMax: Duration = .seconds(900)
    package var overrides: [ApplicationLimitOverride] = []

    package init() {}

    /// No limit on what goes out, as for a store of the team's own; the guards of ingest stay.
    package static var withoutLimits: LimitSettings {
        var settings = LimitSettings()
        settings.groupBurst = 0
        settings.applicationBurst = 0
        settings.globalBurst = 0
        return settings
    }

    /// The limits of one application: an override that names the user wins over one that does not, a later one over an
    /// earlier one.
    package func limits(uid: UInt32, application: String) -> ApplicationLimits {
        var limits = ApplicationLimits(
            groupBurst: groupBurst, groupRefill: groupRefill, applicationBurst: applicationBurst,
            applicationRefill: applicationRefill)
        let matching = overrides.filter { $0.name == application }
        for override in matching.filter({ $0.uid == nil }) + matching.filter({ $0.uid == uid }) {
            limits.groupBurst = override.groupBurst ?? limits.groupBurst
            limits.groupRefill = override.groupRefill ?? limits.groupRefill
            limits.applicationBurst = override.applicationBurst ?? limits.applicationBurst
            limits.applicationRefill = override.applicationRefill ?? limits.applicationRefill
        }
        return limits
    }

    /// What holds for an application nobody has said anything else about.
    package var ofAnyApplication: ApplicationLimits {
        ApplicationLimits(
            groupBurst: groupBurst, groupRefill: groupRefill, applicationBurst: applicationBurst,
            applicationRefill: applicationRefill)
    }

    var global: BucketLimit { BucketLimit(burst: globalBurst, refill: globalRefill) }
    var applicationReserves: [BucketRole: Share] { [.critical: criticalReserve, .novelty: noveltyReserve] }
    var globalReserves: [BucketRole: Share] {
        [.critical: criticalReserve, .novelty: noveltyReserve, .summary: summaryReserve]
    }
}

/// What one application's own section of the configuration says else (`[Limits NAME]`).
package struct ApplicationLimitOverride: Hashable, Sendable {
    package var name: String
    /// Only for the application of that name of this user; of any user where nothing is said.
    package var uid: UInt32?
    package var groupBurst: Int64?
    package var groupRefill: Rate?
    package var applicationBurst: Int64?
    package var applicationRefill: Rate?

    package init(
        name: String, uid: UInt32? = nil, groupBurst: Int64? = nil, groupRefill: Rate? = nil,
        applicationBurst: Int64? = nil, applicationRefill: Rate? = nil
    ) {
        self.name = name
        self.uid = uid
        self.groupBurst = groupBurst
        self.groupRefill = groupRefill
        self.applicationBurst = applicationBurst
        self.applicationRefill = applicationRefill
    }
}

/// The limits of one application and of each group in it.
package struct ApplicationLimits: Hashable, Sendable {
    package var groupBurst: Int64
    package var groupRefill: Rate
    package var applicationBurst: Int64
    package var applicationRefill: Rate

    package init(groupBurst: Int64, groupRefill: Rate, applicationBurst: Int64, applicationRefill: Rate) {
        self.groupBurst = groupBurst
        self.groupRefill = groupRefill
        self.applicationBurst = applicationBurst
        self.applicationRefill = applicationRefill
    }

    var group: BucketLimit { BucketLimit(burst: groupBurst, refill: groupRefill) }
    var application: BucketLimit { BucketLimit(burst: applicationBurst, refill: applicationRefill) }
}

/// The rate limits of a destination and the limits on new names, groups and series (`[Limits]`).
///
/// A burst, rate or count of zero disables that limit. A burst is the number of records that may be sent at once.
package struct LimitSettings: Hashable, Sendable {
    package var groupBurst: Int64 = 5
    package var groupRefill = Rate(1, per: .seconds(300))
    package var applicationBurst: Int64 = 100
    package var applicationRefill = Rate(60, per: .seconds(60))
    package var globalBurst: Int64 = 300
    package var globalRefill = Rate(300, per: .seconds(60))
    package var newGroupsPerApplication = Rate(100, per: .seconds(900))
    package var newSeriesPerApplication = Rate(1000, per: .seconds(900))
    /// The maximum number of new application names of a user per day.
    package var applicationsPerUser: Int64 = 50
    package var criticalReserve = Percentage(percent: 20)
    package var summaryReserve = Percentage(percent: 10)
    package var noveltyReserve = Percentage(percent: 20)
    /// The length of the first window of a suppression. Each window is twice as long as the one before it, up to
    /// `summaryIntervalMax`.
    package var summaryInterval: Duration = .seconds(60)
    package var summaryIntervalMax: Duration = .seconds(900)
    package var overrides: [ApplicationLimitOverride] = []

    package init() {}

    /// Settings without rate limits, for self-hosted destinations. The limits on new names, groups and series remain.
    package static var withoutLimits: LimitSettings {
        var settings = LimitSettings()
        settings.groupBurst = 0
        settings.applicationBurst = 0
        settings.globalBurst = 0
        return settings
    }

    /// The settings without the maximum ages, which are limits of the store.
    var withoutAges: LimitSettings {
        var settings = self
        settings.overrides = overrides.compactMap { override in
            guard override.maxAge != nil else { return override }
            var changed = override
            changed.maxAge = nil
            // A section with only a maximum age changes no limit of a destination.
            return changed == ApplicationLimitOverride(name: override.name, uid: override.uid) ? nil : changed
        }
        return settings
    }

    /// Returns the limits of one application.
    ///
    /// An override that names the user takes precedence over one that does not. Otherwise, the later one takes
    /// precedence.
    ///
    /// - Parameters:
    ///   - uid: The user the application runs as.
    ///   - application: The application's name.
    package func limits(uid: UInt32, application: String) -> ApplicationLimits {
        var limits = defaultApplicationLimits
        for override in overrides.settings(uid: uid, application: application) {
            limits.group.burst = override.groupBurst ?? limits.group.burst
            limits.group.refill = override.groupRefill ?? limits.group.refill
            limits.application.burst = override.applicationBurst ?? limits.application.burst
            limits.application.refill = override.applicationRefill ?? limits.application.refill
        }
        return limits
    }

    /// The limits of an application without overrides.
    package var defaultApplicationLimits: ApplicationLimits {
        ApplicationLimits(
            group: BucketLimit(burst: groupBurst, refill: groupRefill),
            application: BucketLimit(burst: applicationBurst, refill: applicationRefill))
    }

    var global: BucketLimit { BucketLimit(burst: globalBurst, refill: globalRefill) }
    var applicationReserves: [BucketRole: Percentage] { [.critical: criticalReserve, .novelty: noveltyReserve] }
    var globalReserves: [BucketRole: Percentage] {
        [.critical: criticalReserve, .novelty: noveltyReserve, .summary: summaryReserve]
    }
}

/// A setting for one application (`[Limits NAME]`).
package protocol ApplicationSetting {
    /// The name of the application.
    var name: String { get }
    /// The user of the application; nil if the setting applies to all users.
    var uid: UInt32? { get }
}

extension Sequence where Element: ApplicationSetting {
    /// Returns the settings that apply to an application, in ascending order of precedence. Those for its user follow
    /// those for all users.
    func settings(uid: UInt32, application: String) -> [Element] {
        let matching = filter { $0.name == application }
        return matching.filter { $0.uid == nil } + matching.filter { $0.uid == uid }
    }
}

/// The overrides in the section of one application (`[Limits NAME]`). Nil overrides nothing.
package struct ApplicationLimitOverride: ApplicationSetting, Hashable, Sendable {
    package var name: String
    /// The user to whose application the override applies; nil for all users.
    package var uid: UInt32?
    package var groupBurst: Int64?
    package var groupRefill: Rate?
    package var applicationBurst: Int64?
    package var applicationRefill: Rate?
    /// The maximum age of the application's records. It is a limit of the store, not of a destination.
    package var maxAge: Duration?

    package init(
        name: String, uid: UInt32? = nil, groupBurst: Int64? = nil, groupRefill: Rate? = nil,
        applicationBurst: Int64? = nil, applicationRefill: Rate? = nil, maxAge: Duration? = nil
    ) {
        self.maxAge = maxAge
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
    package var group: BucketLimit
    package var application: BucketLimit
}

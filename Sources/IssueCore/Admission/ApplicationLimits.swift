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

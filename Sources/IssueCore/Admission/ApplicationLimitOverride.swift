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

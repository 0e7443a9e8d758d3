package import IssueProtocol

/// The level of a limit that a record has to pass.
package struct LimitForecast: Equatable, Sendable {
    package var reason: SuppressionReason
    /// The number of records that may pass now.
    package var available: Int64
    package var limit: BucketLimit
}

extension Admission {
    /// Returns the levels of the buckets that a candidate has to pass. Limits that are switched off are left out, and
    /// that of the group for the first record of a group. Nothing is counted.
    ///
    /// The destination's level is what all users together have left; one user may get less of it.
    package func levels(for candidate: AdmissionCandidate, at now: RecordLogInstant) -> [LimitForecast] {
        let limits = limits(of: candidate.account)
        let claims = Self.reserves(for: candidate) + [.common]
        var levels: [LimitForecast] = []
        if !candidate.isFirstOfGroup, !limits.group.isUnlimited {
            let bucket = groups.peek(candidate.group)?.bucket ?? TokenBucket(limits.group, at: now)
            levels.append(LimitForecast(reason: .groupRate, available: bucket.tokens(at: now), limit: limits.group))
        }
        func add(_ reason: SuppressionReason, _ shared: SharedLimit?, _ limit: BucketLimit) {
            guard let shared, !limit.isUnlimited else { return }
            let available = claims.reduce(Int64(0)) { $0.clampedSum(shared[$1]?.tokens.tokens(at: now) ?? 0) }
            levels.append(LimitForecast(reason: reason, available: available, limit: limit))
        }
        add(.applicationRate, accounts.peek(candidate.account)?.buckets, limits.application)
        add(.globalRate, global, settings.global)
        return levels
    }
}

extension CardinalityGuard {
    /// Returns how many groups an application may still create in the current window; nil if there is no limit.
    ///
    /// - Parameters:
    ///   - settings: The limits.
    ///   - application: The number of groups that the application has created in the window.
    ///   - user: The number of groups that all applications of its user have created.
    package static func groupsLeft(_ settings: LimitSettings, application: Int64, user: Int64) -> Int64? {
        let limit = settings.newGroupsPerApplication
        guard !limit.isUnlimited else { return nil }
        return max(0, min(limit.count - application, limit.count.clampedProduct(applicationsAtOnce) - user))
    }
}

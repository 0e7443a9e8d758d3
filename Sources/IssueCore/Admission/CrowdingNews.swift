import IssueProtocol

/// Decides which crowding is worth a line: each the first time, and again after an hour.
package struct CrowdingNews: Sendable {
    private var told: [Crowding: MonotonicInstant] = [:]

    package static let interval: Duration = .seconds(3600)
    /// How many are kept in mind: a host has few users.
    private static let most = 1024

    package init() {}

    /// Something was kept together; answers whether that is to be told.
    package mutating func came(_ crowding: Crowding, at now: MonotonicInstant) -> Bool {
        if let last = told[crowding], last.duration(to: now) < Self.interval { return false }
        if told.count >= Self.most { told = told.filter { $0.value.duration(to: now) < Self.interval } }
        guard told.count < Self.most || told[crowding] != nil else { return false }
        told[crowding] = now
        return true
    }
}

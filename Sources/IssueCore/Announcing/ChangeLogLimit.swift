/// Limits how often state changes by ordinary users are logged one by one, so that none of them fills the log.
///
/// It counts within windows of a minute. The number left out of a window is reported with the first change after it.
package struct ChangeLogLimit: Sendable {
    package static let perUser = 10
    package static let perMinute = 60
    private static let window: Duration = .seconds(60)

    private var begin: MonotonicInstant?
    private var counts: [UInt32: Int] = [:]
    private var logged = 0
    private var leftOut = 0

    package init() {}

    /// Counts a change.
    ///
    /// - Returns: Whether to log it, and how many of an earlier window were left out.
    package mutating func changed(by uid: UInt32, at now: MonotonicInstant) -> (isLogged: Bool, leftOut: Int) {
        var told = 0
        if begin.map({ $0.advanced(by: Self.window) <= now }) ?? true {
            told = leftOut
            self = ChangeLogLimit()
            begin = now
        }
        // `counts` has at most one entry for each logged line.
        guard logged < Self.perMinute, counts[uid, default: 0] < Self.perUser else {
            leftOut += 1
            return (false, told)
        }
        logged += 1
        counts[uid, default: 0] += 1
        return (true, told)
    }
}

package import IssueProtocol

/// The bytes sent in the present UTC day, against what a day may have.
package struct DailyBudget: Equatable, Sendable {
    private static let day: Int64 = 86_400_000
    private static let scarceFrom: Int64 = 80

    private let limit: Int64
    /// Days since 1970.
    package private(set) var day: Int64
    package private(set) var bytes: Int64

    /// - Parameter limit: Nothing or less is no limit.
    package init(limit: Int64, day: Int64 = 0, bytes: Int64 = 0) {
        self.limit = limit
        self.day = day
        self.bytes = max(0, bytes)
    }

    package mutating func sent(_ count: Int, at now: Timestamp) {
        let today = Self.day(of: now)
        // Also when the clock was set back: a clock that was once a year
        // ahead must not close the destination for a year.
        if today != day { bytes = 0 }
        day = today
        bytes = bytes.clampedSum(Int64(count))
    }

    package func bytes(at now: Timestamp) -> Int64 {
        Self.day(of: now) != day ? 0 : bytes
    }

    package func state(at now: Timestamp) -> DailyBytesState {
        guard limit > 0 else { return .plenty }
        let used = bytes(at: now)
        if used >= limit { return .spent }
        return used.clampedProduct(100) >= limit.clampedProduct(Self.scarceFrom) ? .scarce : .plenty
    }

    private static func day(of now: Timestamp) -> Int64 {
        let (quotient, remainder) = now.milliseconds.quotientAndRemainder(dividingBy: day)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

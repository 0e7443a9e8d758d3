/// So many in so long, as `60/min` or `1/5min`; a count of nothing means without limit.
package struct Rate: Hashable, Sendable {
    package var count: Int64
    package var period: Duration

    package init(_ count: Int64, per period: Duration) {
        self.count = count
        self.period = period
    }

    package static let unlimited = Rate(0, per: .seconds(1))

    package var isUnlimited: Bool { count <= 0 || period <= .zero }
}

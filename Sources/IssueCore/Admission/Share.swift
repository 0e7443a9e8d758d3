/// A part of a whole in per cent, from nothing to all of it.
package struct Share: Hashable, Comparable, Sendable {
    package let percent: Int64

    package init(percent: Int64) {
        self.percent = min(max(percent, 0), 100)
    }

    package static let whole = Share(percent: 100)
    package static let nothing = Share(percent: 0)

    package static func < (left: Self, right: Self) -> Bool {
        left.percent < right.percent
    }
}

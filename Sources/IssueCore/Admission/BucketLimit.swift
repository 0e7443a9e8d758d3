/// What a bucket holds at most and how fast it fills, possibly only a share of that.
package struct BucketLimit: Hashable, Sendable {
    package var burst: Int64
    package var refill: Rate
    package var share: Share

    package init(burst: Int64, refill: Rate, share: Share = .whole) {
        self.burst = burst
        self.refill = refill
        self.share = share
    }

    package static let unlimited = BucketLimit(burst: 0, refill: .unlimited)

    /// Either number being zero takes the limit away.
    package var isUnlimited: Bool { burst <= 0 || refill.isUnlimited }
}

/// How large a request may be, learnt from what was too large.
struct LearnedSize: Equatable, Sendable {
    private static let least = 16 << 10
    private static let backOff = 0.8
    private static let growthPerHour = 0.05

    private let most: Int
    private var bytes: Double
    private var at: MonotonicInstant?

    init(most: Int) {
        self.most = most
        bytes = Double(most)
    }

    func limit(at now: MonotonicInstant) -> Int {
        guard let at else { return most }
        let hours = max(.zero, at.duration(to: now)) / .seconds(3600)
        return Int(min(Double(most), bytes * (1 + hours * Self.growthPerHour)))
    }

    /// A request of so many bytes was too large.
    mutating func lower(from failed: Int, at now: MonotonicInstant) {
        let lowered = min(Double(limit(at: now)), Double(failed) * Self.backOff)
        bytes = max(lowered, Double(min(Self.least, most)))
        at = now
    }
}

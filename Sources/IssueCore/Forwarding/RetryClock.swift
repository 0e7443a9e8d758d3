/// Measures how long a batch has been tried in vain; it stands still while the destination is paused.
struct RetryClock: Equatable, Sendable {
    private var before: Duration = .zero
    private var runningSince: MonotonicInstant?

    init(spent: Duration = .zero) {
        before = spent
    }

    func spent(at now: MonotonicInstant) -> Duration {
        before + (runningSince.map { max(.zero, $0.duration(to: now)) } ?? .zero)
    }

    mutating func run(at now: MonotonicInstant) {
        runningSince = runningSince ?? now
    }

    mutating func stand(at now: MonotonicInstant) {
        before = spent(at: now)
        runningSince = nil
    }
}

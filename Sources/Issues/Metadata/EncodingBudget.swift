/// How much of a value is still taken.
///
/// A value may hold itself, or a million others; a report must not grow with it.
final class EncodingBudget {
    static let deepest = 24
    /// What stands for all that was cut.
    static let cut = "…"

    private var valuesLeft = 10_000
    private var depthLeft = EncodingBudget.deepest

    /// Whether another element or member is taken, and whether it is the last, to stand for the rest.
    enum Room {
        case some
        case last
        case none
    }

    func take() -> Room {
        guard valuesLeft > 0 else { return .none }
        valuesLeft -= 1
        return valuesLeft == 0 ? .last : .some
    }

    /// Goes a level deeper; false, and without going there, when it is too deep.
    func descend(_ body: () -> Void) -> Bool {
        guard depthLeft > 0 else { return false }
        depthLeft -= 1
        body()
        depthLeft += 1
        return true
    }
}

/// How much of a value is still taken.
///
/// A value may hold itself, or a million others; a report must not grow with it.
final class EncodingBudget {
    static let deepest = 24
    private var left = 10_000

    /// Takes one more value in; false when there is no room left.
    func take() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}

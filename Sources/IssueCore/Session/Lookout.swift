/// When somebody who waits for news is looked after again: as often as something has happened since the last look
/// began, never twice at a time, and not at all while nothing happens.
package struct Lookout: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case look
        case none
    }

    /// Whether a look is under way.
    package private(set) var isLooking = true
    /// Whether there may be more than what the last look could see.
    private var hasNews = false

    /// The first look has begun.
    package init() {}

    /// Something has happened that may be what is waited for.
    package mutating func happened() { hasNews = true }

    /// A look has come to its end.
    ///
    /// - Parameter mayBeMore: whether it has found as much as it may, so that the next one may find more.
    package mutating func looked(mayBeMore: Bool) {
        isLooking = false
        if mayBeMore { hasNews = true }
    }

    /// There is room for what a look would find.
    package mutating func mayLook() -> Action {
        guard hasNews, !isLooking else { return .none }
        hasNews = false
        isLooking = true
        return .look
    }
}

/// Which size of a compressed body is limited; the documentation does not say.
package enum SizeLimitScope: String, Hashable, Sendable, CaseIterable {
    case wire
    case inflated
    case both
}

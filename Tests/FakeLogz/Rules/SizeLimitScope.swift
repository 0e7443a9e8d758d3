/// The size of a compressed body that is limited; the documentation does not specify it.
package enum SizeLimitScope: String, Hashable, Sendable, CaseIterable {
    case wire
    case inflated
    case both
}

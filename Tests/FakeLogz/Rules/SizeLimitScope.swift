/// Which size of a compressed body is limited. The documentation of the service does not specify it.
package enum SizeLimitScope: String, Hashable, Sendable, CaseIterable {
    case wire
    case inflated
    case both
}

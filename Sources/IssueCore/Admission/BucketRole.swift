/// Whom a share of a limit is kept for.
package enum BucketRole: UInt8, CaseIterable, Hashable, Sendable {
    /// What is nobody's in particular; everyone may draw on it after their own share.
    case common
    case critical
    /// A group that is seen for the first time.
    case novelty
    case summary
}

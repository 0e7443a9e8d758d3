/// The daemon's answer for one record of a report.
package enum RecordReceipt: Equatable, Sendable {
    /// The record is on disk under this id.
    case stored(id: String)
    /// The record was there already, under this id; none where it came so long ago that its id is no longer known.
    case duplicate(id: String?)
    /// The record was not taken.
    case rejected(field: String?, reason: String)
}

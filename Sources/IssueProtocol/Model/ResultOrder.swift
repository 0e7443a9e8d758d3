internal import IssueWire

/// In which order groups or records are answered (`Order` on the wire).
package enum ResultOrder: String, CaseIterable, Sendable {
    case newest
    case oldest
    case most
    case worst
}

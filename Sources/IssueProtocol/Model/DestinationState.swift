internal import IssueWire

/// What a destination is doing right now.
package enum DestinationState: String, CaseIterable, Sendable {
    case idle
    case sending
    case waiting
    case paused
}

package import IssueProtocol

/// A correction of the grouping, or the undoing of one, to be sent.
///
/// With it, a destination can map the ids in records that it received before the correction to the present ones.
package struct OutboundCorrection: Equatable, Sendable {
    /// The kind of the change.
    package enum Action: String, CaseIterable, Sendable {
        case merge
        case split
        case rule
        case undo
    }

    /// The same each time it is sent, and at each destination.
    package var eventID: String
    package var host: String
    /// The correction. With `isUndone`, author, time and reason are those of undoing it. A line of a rule with `other`
    /// is about an issue that the rule has merged.
    package var correction: GroupCorrection
    /// `true` if the correction was undone.
    package var isUndone: Bool
    /// The fingerprint of the group that gets the records.
    package var fingerprint: String
    /// The fingerprint of the other group; nil without it.
    package var otherFingerprint: String?

    package init(
        eventID: String, host: String, correction: GroupCorrection, isUndone: Bool, fingerprint: String,
        otherFingerprint: String?
    ) {
        self.eventID = eventID
        self.host = host
        self.correction = correction
        self.isUndone = isUndone
        self.fingerprint = fingerprint
        self.otherFingerprint = otherFingerprint
    }

    package var action: Action {
        if isUndone { return .undo }
        return switch correction.kind {
        case .merge: .merge
        case .split: .split
        case .rule: .rule
        }
    }

    /// The change as a sentence, without the reason.
    package var message: String {
        let group = correction.group
        let other = correction.other
        let done =
            switch correction.kind {
            case .merge: "\(other ?? "an issue") was merged into \(group)"
            case .split: "\(group) was split from \(other ?? "an issue")"
            case .rule:
                other.map { "a rule merged \($0) into \(group)" } ?? "a rule merges matching issues into \(group)"
            }
        return "Correction \(correction.id)\(isUndone ? " was undone" : ""): \(done)"
    }
}

package import IssueProtocol

/// A correction of the grouping, or the undoing of one, to be sent to a destination.
///
/// Readers of the destination use it to map the ids in records sent before the correction to the present ids.
package struct OutboundCorrection: Equatable, Sendable {
    /// The value of the field `correction_action`.
    package enum Action: String, CaseIterable, Sendable {
        case merge
        case split
        case rule
        case undo
    }

    /// The id of the line. It is the same at each destination and each time the line is sent.
    package var eventID: String
    package var host: String
    /// The correction. With `isUndone`, author, time and reason are those of the undoing. A rule with `other` is the
    /// merge of an existing issue by that rule.
    package var correction: GroupCorrection
    /// `true` if the correction was undone.
    package var isUndone: Bool
    /// The fingerprint of the group that gets the records.
    package var fingerprint: String
    /// The fingerprint of the other group; nil if there is no other group.
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

    /// A description of the change in one sentence, without the reason.
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

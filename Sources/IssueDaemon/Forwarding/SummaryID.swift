import IssueCore
import IssueProtocol

/// The `event_id` of a summary: the same whenever the same is told again.
enum SummaryID {
    static func text(of draft: SummaryDraft, destination: String, host: String) -> String {
        var hash = SipHash(key0: 3)
        hash.append(field: host)
        hash.append(field: destination)
        hash.append(UInt64(bitPattern: draft.group ?? -draft.account))
        hash.append(field: draft.reason.rawValue)
        hash.append(UInt64(bitPattern: draft.windowStart.milliseconds))
        hash.append(UInt64(bitPattern: draft.summarySequence))
        return "s-\(Fingerprint.hexadecimal(hash.finish()))"
    }
}

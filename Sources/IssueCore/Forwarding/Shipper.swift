package import IssueProtocol

/// A kind of destination. It makes lines from records, sends them and classifies the responses.
///
/// A shipper belongs to the thread of its destination. The thread waits for each response.
package protocol Shipper: ~Copyable {
    /// Returns what the administrator can do about a pause.
    static func advice(on reason: PauseReason) -> String

    /// Returns the line of a record, within the destination's limits.
    ///
    /// The same record always gives the same line, provided that `types` contains the types stored with its batch.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// Returns the line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// Returns the line of a correction of the grouping.
    func line(of correction: OutboundCorrection) -> [UInt8]

    /// Returns the truncated form of a line that was too large, or nil if nothing is left to truncate.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// Returns an empty request body. Each line is added to the body as soon as it is made, so that no lines have to be
    /// kept.
    func prepare() -> any PreparedBody

    /// Sends a request and waits for the response.
    ///
    /// - Parameters:
    ///   - body: A body returned by `prepare()`, with all lines added.
    ///   - limit: A shorter timeout for this request; nil for the usual one.
    /// - Returns: The meaning of the response, or of the failure to get one.
    mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult

    /// Whether sending needs a credential and none is available.
    var lacksCredential: Bool { get }

    /// Reads the credential again and returns `true` if it is available and has changed.
    mutating func rereadCredential() -> Bool
}

extension Shipper where Self: ~Copyable {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    package var lacksCredential: Bool { false }
}

/// The body of a request, built line by line. It may be sent more than once.
package protocol PreparedBody: AnyObject {
    /// The number of lines.
    var count: Int { get }

    /// Whether the body cannot be sent because compressing it failed. The lines must then be added to another body.
    var isBroken: Bool { get }

    /// Appends a line. Lines are sent in the order in which they are added.
    func add(_ line: [UInt8])
}

extension PreparedBody {
    package var isBroken: Bool { false }
}

/// The parts that the lines of one series have in common, encoded once and copied into each line.
package struct CachedLine: Sendable {
    /// A metadata key that is written to the line unchanged, and the type of its field.
    package struct Field: Sendable {
        package let key: [UInt8]
        package let kind: FieldTypes.Kind

        package init(key: [UInt8], kind: FieldTypes.Kind) {
            self.key = key
            self.kind = kind
        }
    }

    /// Encoded members of the line, in order.
    package var parts: [[UInt8]] = []
    /// The name of the object that contains the metadata; empty until it is chosen.
    package var metadataName = ""
    /// The keys that the next metadata is expected to have, in order and without duplicates: those of earlier metadata
    /// that was copied to a line unchanged.
    package var fields: [Field] = []

    package init() {}
}

/// A cached series, which also holds the cached parts of its lines. Only one destination fills and uses it.
package protocol LineCache: AnyObject, Sendable {
    var cachedLine: CachedLine { get set }

    /// Adds to a record the fields that all records of the series have in common.
    func complete(_ record: inout IssueRecord)
}

/// A record to be sent, with the context that its destination receives.
package struct OutboundRecord: Sendable {
    /// The stored record. If `seriesCache` is set, it lacks the fields that all records of its series have in common.
    package var own: StoredRecord
    /// The metadata as stored JSON that has not been parsed; nil if `own` contains it.
    package var storedMetadata: String?
    /// The application that the record is counted for: its claimed name, otherwise the sender's command; `overflow` for
    /// the user's overflow application.
    package var app: String
    package var fingerprint: String
    package var host: String
    /// The number of records of its group that were suppressed since the last one sent.
    package var suppressedBefore: Int64
    /// The number of occurrences of its group so far, as counted for this destination.
    package var occurrences: Int64
    /// The cache of its series; nil if `own` is complete.
    package var seriesCache: (any LineCache)?
    /// The user who is accountable for the record, such as the owner of a subordinate user id.
    package var user: UInt32

    /// The complete record. Its id is the `event_id` that receivers use to detect duplicates.
    package var stored: StoredRecord {
        var whole = own
        seriesCache?.complete(&whole.record)
        return whole
    }

    /// The parsed metadata; nil if there is none or it is not valid JSON.
    package var metadata: JSONValue? {
        guard let storedMetadata else { return own.record.metadata }
        return try? JSONValue(json: storedMetadata)
    }

    /// - Parameters:
    ///   - stored: The complete record or, if `seriesCache` is set, only its own fields.
    ///   - storedMetadata: The metadata as stored JSON; nil if `stored` contains it.
    ///   - app: The application that the record is counted for.
    ///   - fingerprint: The fingerprint of its group.
    ///   - host: The name of this host.
    ///   - suppressedBefore: The number of records of its group that were suppressed since the last one sent.
    ///   - occurrences: The number of occurrences of its group so far, as counted for this destination.
    ///   - seriesCache: The cache of its series; nil if `stored` is complete.
    ///   - user: The user who is accountable for the record; nil for the sender.
    package init(
        stored: StoredRecord, storedMetadata: String? = nil, app: String, fingerprint: String, host: String,
        suppressedBefore: Int64, occurrences: Int64, seriesCache: (any LineCache)? = nil, user: UInt32? = nil
    ) {
        own = stored
        self.storedMetadata = storedMetadata
        self.app = app
        self.fingerprint = fingerprint
        self.host = host
        self.suppressedBefore = suppressedBefore
        self.occurrences = occurrences
        self.seriesCache = seriesCache
        self.user = user ?? stored.sender.uid
    }
}

/// An outgoing summary of suppressed records.
package struct OutboundSummary: Equatable, Sendable {
    /// An id derived from the host, the destination, the group or application, the reason, the start of the window and
    /// the sequence number. A resent summary has the same id.
    package var eventID: String
    package var app: String
    package var host: String
    /// The user of the application; nil if unknown.
    package var uid: UInt32?
    /// The id of the group. Nil if the summary is for an application and not for one group, or if the group is gone.
    package var group: String?
    /// Nil if `group` is nil.
    package var fingerprint: String?
    package var title: String
    package var domain: String?
    package var code: Int64?
    /// The application as the newest series of the group describes it, for the `mobile` object of a Logz.io line. Only
    /// its name if there is no such series.
    package var application: Application
    package var severity: IssueLevel
    package var reason: SuppressionReason
    package var windowStart: IssueTimestamp
    package var windowEnd: IssueTimestamp
    package var firstSeen: IssueTimestamp
    package var lastSeen: IssueTimestamp
    /// The number of suppressed records.
    package var suppressedCount: Int64
    /// The number of records sent in the window.
    package var forwardedCount: Int64
    /// The total number of occurrences so far.
    package var occurrences: Int64
    package var sequence: Int64
    /// The number of groups covered.
    package var distinctGroups: Int64
    /// The ids of some suppressed records.
    package var sampleIDs: [String]
    package var stillSuppressing: Bool

    package init(
        eventID: String, app: String, host: String, uid: UInt32?, group: String?, fingerprint: String?, title: String,
        domain: String?, code: Int64?, application: Application, severity: IssueLevel, reason: SuppressionReason,
        windowStart: IssueTimestamp, windowEnd: IssueTimestamp, firstSeen: IssueTimestamp, lastSeen: IssueTimestamp,
        suppressedCount: Int64, forwardedCount: Int64, occurrences: Int64, sequence: Int64, distinctGroups: Int64,
        sampleIDs: [String], stillSuppressing: Bool
    ) {
        self.eventID = eventID
        self.app = app
        self.host = host
        self.uid = uid
        self.group = group
        self.fingerprint = fingerprint
        self.title = title
        self.domain = domain
        self.code = code
        self.application = application
        self.severity = severity
        self.reason = reason
        self.windowStart = windowStart
        self.windowEnd = windowEnd
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.suppressedCount = suppressedCount
        self.forwardedCount = forwardedCount
        self.occurrences = occurrences
        self.sequence = sequence
        self.distinctGroups = distinctGroups
        self.sampleIDs = sampleIDs
        self.stillSuppressing = stillSuppressing
    }
}

/// The types of the fields at a destination. The first value of a field fixes its type permanently.
package struct FieldTypes: Equatable, Sendable {
    package enum Kind: Int64, CaseIterable, Hashable, Sendable {
        case string
        case integer
        case number
        case bool
        case object
    }

    /// The maximum number of sender-defined fields created at a destination.
    package static let maxFields = 500
    /// The number of fields that are reserved for users who have added fewer than `fewFields`, so that no user takes
    /// all.
    package static let reservedFields = 100
    /// The number of fields that a user may add before the reserved ones are no longer available to them.
    package static let fewFields = 20

    private var kinds: [String: Kind] = [:]
    /// The number of fields that each user has added since this value was read from the store.
    private var counts: [UInt32: Int] = [:]
    private var added: [String] = []

    package init(_ kinds: [String: Kind] = [:]) {
        self.kinds = kinds
    }

    /// Returns `true` if a value can be sent under a path, and adds the field if it is new.
    ///
    /// `false` means that the field has another type, or that there are too many fields; the caller then sends the
    /// value as text elsewhere.
    ///
    /// - Parameters:
    ///   - kind: The type of the value.
    ///   - path: The path of the field.
    ///   - user: The user who is accountable for the value.
    package mutating func record(_ kind: Kind, at path: String, by user: UInt32) -> Bool {
        if let known = kinds[path] {
            return known == kind || (known == .number && kind == .integer)
        }
        let count = counts[user] ?? 0
        guard kinds.count < Self.maxFields - (count < Self.fewFields ? 0 : Self.reservedFields) else { return false }
        counts[user] = count + 1
        kinds[path] = kind
        added.append(path)
        return true
    }

    /// Returns the known type of a field, or nil. A field that contains others is an object.
    package func kind(at path: String) -> Kind? { kinds[path] }

    /// Returns the types fixed since the last call, to be stored.
    package mutating func takeAdded() -> [String: Kind] {
        defer { added.removeAll() }
        return Dictionary(added.compactMap { path in kinds[path].map { (path, $0) } }) { $1 }
    }
}

/// A correction of the grouping, or its undo, to be sent to a destination.
///
/// People who search the destination use it to map the group ids and fingerprints in older lines to the current ones.
package struct OutboundCorrection: Equatable, Sendable {
    /// The id of the line. It is the same at each destination and each time the line is sent.
    package var eventID: String
    package var host: String
    /// The correction. If `isUndone` is set, author, time and reason are those of the undo. If `kind` is `rule` and
    /// `other` is set, the rule merged that existing group.
    package var correction: GroupCorrection
    /// Whether the correction was undone.
    package var isUndone: Bool
    /// The fingerprint of the group to which the correction moves records, even if it was undone.
    package var fingerprint: String
    /// The fingerprint of the group from which the correction moves records; nil if there is none.
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

    /// The value of the field `correction_action`.
    package var action: String { isUndone ? "undo" : correction.kind.rawValue }

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

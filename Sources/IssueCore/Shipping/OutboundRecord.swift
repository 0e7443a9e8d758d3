package import IssueProtocol

/// A record on its way to a destination, with what the destination is told beside it.
package struct OutboundRecord: Sendable {
    /// What is stored of it; without what it has in common with others of its series, where there is a memory of that.
    package var own: StoredRecord
    /// Its metadata as the store has it, in JSON that nobody has read yet; nothing where the record itself has it.
    package var storedMetadata: String?
    /// The application it counts for: the name it claims, or else the sender's command.
    package var app: String
    package var fingerprint: String
    package var host: String
    /// How many of its group were held back since the last one that went.
    package var suppressedBefore: Int64
    /// How often its group has occurred so far, as this destination's walk has seen it.
    package var occurrences: Int64
    /// What its line shares with others of its series; nothing where it differs from them.
    package var memory: (any LineCache)?

    /// All that is stored of it; its id is the `event_id` by which a receiver tells a duplicate.
    package var stored: StoredRecord {
        var whole = own
        memory?.complete(&whole.record)
        return whole
    }

    /// The metadata, read.
    package var metadata: JSONValue? {
        guard let storedMetadata else { return own.record.metadata }
        return try? JSONValue(json: storedMetadata)
    }

    /// - Parameter stored: All of it, or what is its own where there is a memory of the rest.
    package init(
        stored: StoredRecord, storedMetadata: String? = nil, app: String, fingerprint: String, host: String,
        suppressedBefore: Int64, occurrences: Int64, memory: (any LineCache)? = nil
    ) {
        own = stored
        self.storedMetadata = storedMetadata
        self.app = app
        self.fingerprint = fingerprint
        self.host = host
        self.suppressedBefore = suppressedBefore
        self.occurrences = occurrences
        self.memory = memory
    }
}

/// What a destination is told of records that were held back.
package struct OutboundSummary: Equatable, Sendable {
    /// Made of destination, group, reason and sequence, so that it is the same whenever the same is told again.
    package var eventID: String
    package var app: String
    package var host: String
    /// Absent where it speaks for several groups.
    package var fingerprint: String?
    package var title: String
    package var domain: String?
    package var code: Int64?
    /// What the newest record of the group said of its application, for the `mobile` object.
    package var application: Application
    package var severity: Severity
    package var reason: SuppressionReason
    package var windowStart: Timestamp
    package var windowEnd: Timestamp
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    package var suppressedCount: Int64
    package var forwardedCount: Int64
    package var occurrences: Int64
    package var sequence: Int64
    package var distinctGroups: Int64
    package var sampleIDs: [String]
    package var stillSuppressing: Bool

    package init(
        eventID: String, app: String, host: String, fingerprint: String?, title: String, domain: String?, code: Int64?,
        application: Application, severity: Severity, reason: SuppressionReason, windowStart: Timestamp,
        windowEnd: Timestamp, firstSeen: Timestamp, lastSeen: Timestamp, suppressedCount: Int64, forwardedCount: Int64,
        occurrences: Int64, sequence: Int64, distinctGroups: Int64, sampleIDs: [String], stillSuppressing: Bool
    ) {
        self.eventID = eventID
        self.app = app
        self.host = host
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

/// The type that each field has at a destination, which its first value fixes for ever.
package struct FieldTypes: Equatable, Sendable {
    package enum Kind: Int64, CaseIterable, Hashable, Sendable {
        case string
        case integer
        case number
        case bool
        case object
    }

    /// How many fields of the senders' own are made at a destination.
    package static let most = 500

    private var kinds: [String: Kind] = [:]
    private var added: [String] = []

    package init(_ kinds: [String: Kind] = [:]) {
        self.kinds = kinds
    }

    package enum Verdict: Equatable, Sendable {
        /// The value goes as it is.
        case fits
        /// The field has another type already, or there are too many fields: the value goes as text elsewhere.
        case doesNotFit
    }

    /// A value is about to be sent under a path.
    package mutating func met(_ kind: Kind, at path: String) -> Verdict {
        if let known = kinds[path] {
            return known == kind || (known == .number && kind == .integer) ? .fits : .doesNotFit
        }
        guard kinds.count < Self.most else { return .doesNotFit }
        kinds[path] = kind
        added.append(path)
        return .fits
    }

    /// The type that a field is known to have; what an object stands in is an object, too.
    package func kind(at path: String) -> Kind? { kinds[path] }

    /// What has been fixed since this was asked last, to be stored.
    package mutating func takeAdded() -> [String: Kind] {
        defer { added.removeAll() }
        return Dictionary(added.compactMap { path in kinds[path].map { (path, $0) } }) { $1 }
    }
}

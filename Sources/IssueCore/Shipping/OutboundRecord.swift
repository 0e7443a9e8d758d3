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
    package var memory: (any LineMemory)?

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
        suppressedBefore: Int64, occurrences: Int64, memory: (any LineMemory)? = nil
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

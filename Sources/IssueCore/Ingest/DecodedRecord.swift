package import IssueProtocol

/// One record as it waits to be stored: numbers, and where its text lies in its batch.
package struct DecodedRecord: Sendable {
    /// How a record's own text relates to the template of its series.
    package enum MessageForm: UInt8, Sendable {
        /// The template says it all.
        case template
        /// What the template's placeholders stand for.
        case parts
        /// The whole message, since its template can't give it back.
        case whole
    }

    /// What the record shares with all of its series, by its number in the batch's directory.
    package var series: UInt32 = 0
    package var messageForm = MessageForm.template
    package var message = ByteRange.empty
    /// A JSON object as the sender wrote it, or empty.
    package var metadata = ByteRange.empty
    /// A JSON object of what few records have (causes, backtrace, repairs), or empty.
    package var details = ByteRange.empty
    /// Milliseconds since 1970, or `absent`.
    package var occurredAt = Self.absent
    package var firstOccurredAt = Self.absent
    package var count: Int64 = 1
    package var severity = Severity.error
    package var isReportable = true

    package static let absent = Int64.min

    package init() {}
}

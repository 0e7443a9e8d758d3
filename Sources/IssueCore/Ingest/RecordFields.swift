import IssueProtocol

/// The fields of the record that is being read: numbers, and where its texts stand.
struct RecordFields: Sendable {
    var message: JSONText?
    var severity = Severity.error
    var domain: JSONText?
    var code: Int64 = 0
    var occurredAt = DecodedRecord.absent
    var firstOccurredAt = DecodedRecord.absent
    var count: Int64 = 1
    var fileID: JSONText?
    var line: Int64 = 0
    var column: Int64 = 0
    var function: JSONText?
    var module: JSONText?
    var name: JSONText?
    var version: JSONText?
    var build: Int64 = 0
    var environment: JSONText?
    var platform: JSONText?
    var network: JSONText?
    var fingerprint: JSONText?
    var metadata: Range<Int>?
    var causes: Range<Int>?
    var backtrace: Range<Int>?
    var isReportable = true
    var flags: SeriesKey.Flags = .reportable
}

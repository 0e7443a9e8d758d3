package import HTTPTransfer
package import IssueCore

/// What one kind of destination that is spoken to over HTTP has of its own: the form of a record, of a request and of
/// an answer.
package protocol HTTPFormat: Sendable {
    /// The word in `status` for its kind.
    static var kind: String { get }

    /// What to do where it is left alone until somebody does something.
    static func advice(on reason: PauseReason) -> String

    var http: HTTPSettings { get }

    /// The line of a record, within the destination's limits.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// The line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// A line that was too large, cut as far as it can be, or nothing where there is nothing left to cut.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// How lines become one body.
    static var frame: BodyFrame { get }

    /// How a body is posted.
    func post(token: ShippingToken?) -> HTTPPost

    /// What an answer means beyond its status; nothing where the status says it all.
    static func reading(of response: HTTPResponse, to lines: SentLines, by reader: AnswerReader) -> AnswerReading?
}

extension HTTPFormat {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    /// A store of the team's own takes what the daemon takes, so there is nothing to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }
}

package import IssueProtocol

/// A kind of destination. It makes lines from records, sends them and classifies the responses.
///
/// It belongs to the destination's thread, which waits for each response.
package protocol Shipper: ~Copyable {
    /// The name of its kind in `status`.
    static var kind: String { get }

    /// Returns what the administrator can do about a pause.
    static func advice(on reason: PauseReason) -> String

    /// Returns the line of a record, within the destination's limits.
    ///
    /// The same record always gives the same line, provided that `types` are those stored with its batch.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// Returns the line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// Returns the line of a correction of the grouping.
    func line(of correction: OutboundCorrection) -> [UInt8]

    /// Returns a line that was too large in truncated form, or nil if nothing is left to truncate.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// Returns a body that takes the lines of a request while they are made, so that none of them has to be kept.
    func prepare() -> any PreparedBody

    /// Sends a request and waits for the response.
    ///
    /// - Parameters:
    ///   - body: A body returned by `prepare()`, with all lines added.
    ///   - limit: A shorter timeout for this request; nil for the usual one.
    /// - Returns: The meaning of the response.
    mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult

    /// `true` if sending needs a credential and none is available.
    var lacksCredential: Bool { get }

    /// Reads the credential again and returns `true` if it has changed.
    mutating func rereadCredential() -> Bool
}

extension Shipper where Self: ~Copyable {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    package var lacksCredential: Bool { false }

    /// Sends lines as one request and waits for the response.
    package mutating func send(_ lines: [[UInt8]]) -> DeliveryResult {
        let body = prepare()
        for line in lines { body.add(line) }
        return send(body, within: nil)
    }
}

/// The body of a request, built line by line. It may be sent more than once.
package protocol PreparedBody: AnyObject {
    /// The number of lines.
    var count: Int { get }

    /// `true` if the body cannot be sent because compressing it failed. The lines must be added to another body.
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
    /// The name of the object that contains the metadata.
    package var metadataName = ""
    /// The metadata keys of the last record, without duplicates.
    package var fields: [Field] = []

    package init() {}
}

/// A holder of the cached line parts of a series. One destination fills and uses it. It is discarded together with the
/// cached series.
package protocol LineCache: AnyObject, Sendable {
    var cachedLine: CachedLine { get set }

    /// Adds the fields that the series has in common to a record.
    func complete(_ record: inout IssueRecord)
}

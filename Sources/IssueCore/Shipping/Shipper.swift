/// One kind of destination: it makes lines of records, sends them, and says what the answer means.
///
/// It belongs to the thread of its destination, which waits for each answer.
package protocol Shipper: ~Copyable {
    /// The word in `status` for its kind.
    static var kind: String { get }

    /// What to do where it is left alone until somebody does something.
    static func advice(on reason: PauseReason) -> String

    /// The line of a record, within the destination's limits.
    ///
    /// The same record makes the same line again, as long as the types are those that were stored with its batch.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// The line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// A line that was too large, cut as far as it can be, or nothing where there is nothing left to cut.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// What is given the lines of a request as they are made, so that none of them has to be kept.
    func prepare() -> any PreparedBody

    /// Puts a request under way. Its answer has to be asked for before the next one is begun.
    ///
    /// - Parameter body: What `prepare()` gave, with all lines in it.
    /// - Parameter limit: Where the request may not take as long as others may.
    mutating func begin(_ body: any PreparedBody, within limit: Duration?)

    /// Waits for the answer to the request that is under way.
    ///
    /// - Parameter lines: What the request carried.
    func answer(to lines: SentLines) -> DeliveryAnswer

    /// `true` if a credential is needed to send, and there is none.
    var lacksCredential: Bool { get }

    /// Reads the credential again and says whether it is another one now.
    mutating func rereadCredential() -> Bool
}

extension Shipper where Self: ~Copyable {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    package var lacksCredential: Bool { false }

    /// Sends lines as one request and waits for the answer.
    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let body = prepare()
        for line in lines { body.add(line) }
        begin(body, within: nil)
        return answer(to: SentLines(lines))
    }
}

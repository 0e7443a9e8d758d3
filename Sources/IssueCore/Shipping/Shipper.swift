/// One kind of destination: it makes lines of records, sends them, and says what the answer means.
///
/// It belongs to the thread of its destination, which waits for each answer.
package protocol Shipper: ~Copyable {
    /// The word in `status` for its kind.
    static var kind: String { get }

    /// The line of a record, within the destination's limits.
    ///
    /// The same record makes the same line again, as long as the types are those that were stored with its batch.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// The line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// A line that was too large, cut as far as it can be, or nothing where there is nothing left to cut.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// What is given the lines of a batch as they are made, so that making them and making a body of them need not wait
    /// for each other; nothing where it gains nothing.
    func prepare() -> (any PreparedBody)?

    /// Sends lines as one request and waits for the answer.
    ///
    /// - Parameter prepared: What was given exactly these lines, if anything was.
    mutating func send(_ lines: [[UInt8]], prepared: (any PreparedBody)?) -> DeliveryAnswer

    /// Reads the credential again and says whether it is another one now.
    mutating func rereadCredential() -> Bool

    /// Whether a bare connection comes about.
    mutating func reaches() -> Bool
}

extension Shipper where Self: ~Copyable {
    package func prepare() -> (any PreparedBody)? { nil }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer { send(lines, prepared: nil) }
}

package import IssueProtocol

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
    func answer(to lines: RequestLines) -> DeliveryResult

    /// `true` if a credential is needed to send, and there is none.
    var lacksCredential: Bool { get }

    /// Reads the credential again and says whether it is another one now.
    mutating func rereadCredential() -> Bool
}

extension Shipper where Self: ~Copyable {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    package var lacksCredential: Bool { false }

    /// Sends lines as one request and waits for the answer.
    package mutating func send(_ lines: [[UInt8]]) -> DeliveryResult {
        let body = prepare()
        for line in lines { body.add(line) }
        begin(body, within: nil)
        return answer(to: RequestLines(lines))
    }
}

/// The body of one request, made while the next of its lines are still being made; it may be sent more than once.
package protocol PreparedBody: AnyObject {
    /// One line more, in the order in which they will be sent.
    func add(_ line: [UInt8])
}

/// The lines that a request carried, made again only where an answer can't be understood without them.
package struct RequestLines {
    package let count: Int
    private let make: () -> [[UInt8]]

    package init(count: Int, _ make: @escaping () -> [[UInt8]]) {
        self.count = count
        self.make = make
    }

    package init(_ lines: [[UInt8]]) {
        self.init(count: lines.count) { lines }
    }

    /// All of them.
    package var all: [[UInt8]] { make() }
}

/// What the lines of one series have in common, so that it is written once and copied then.
package struct CachedLine: Sendable {
    /// A key of the metadata that stands in a line as it came, and the type that its field has.
    package struct Field: Sendable {
        package let key: [UInt8]
        package let kind: FieldTypes.Kind

        package init(key: [UInt8], kind: FieldTypes.Kind) {
            self.key = key
            self.kind = kind
        }
    }

    /// Members as they stand in the line, in the order in which they come.
    package var parts: [[UInt8]] = []
    /// The name of the object that holds the metadata.
    package var metadataName = ""
    /// The keys of the metadata that were met last, none of them twice.
    package var fields: [Field] = []

    package init() {}
}

/// Where what lines of one series share is kept; one destination fills and uses it, and it is forgotten with what the
/// store has looked up of the series.
package protocol LineCache: AnyObject, Sendable {
    var memo: CachedLine { get set }

    /// Adds to a record what it has in common with others of its series.
    func complete(_ record: inout IssueRecord)
}

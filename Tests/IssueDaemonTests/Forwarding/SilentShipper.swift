import IssueCore
import IssueProtocol

/// A destination that answers every request with `result` and sends nothing. A line is the id of its record.
struct SilentShipper: Shipper, ~Copyable {
    /// The result of each request.
    var result = DeliveryResult(.accepted, ResponseSummary("200"))

    private final class Body: PreparedBody {
        private(set) var count = 0
        func add(_ line: [UInt8]) { count += 1 }
    }

    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { Array(record.stored.id.utf8) }
    func line(of summary: OutboundSummary) -> [UInt8] { Array(summary.eventID.utf8) }
    func line(of correction: OutboundCorrection) -> [UInt8] { Array(correction.eventID.utf8) }
    func cut(_ line: [UInt8]) -> [UInt8]? { nil }
    func prepare() -> any PreparedBody { Body() }
    mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult { result }
    mutating func rereadCredential() -> Bool { false }
}

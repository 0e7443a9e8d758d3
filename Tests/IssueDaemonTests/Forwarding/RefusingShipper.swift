import IssueCore
import IssueProtocol
import UnixIO

/// A destination that rejects lines with a certain word, and only returns how
/// many it accepted.
struct RefusingShipper: Shipper, ~Copyable {
    static var kind: String { "refusing" }

    final class Body: PreparedBody {
        private(set) var lines: [String] = []
        func add(_ line: [UInt8]) { lines.append(String(decoding: line, as: UTF8.self)) }
    }

    let refused: String
    /// The lines of each request.
    let requests: Monitor<[[String]]>
    /// Called while a request waits for its reply, with the number of the
    /// request.
    let underWay: (Int) -> Void
    private var lines: [String] = []

    init(refusing word: String, _ requests: Monitor<[[String]]>, _ underWay: @escaping (Int) -> Void) {
        refused = word
        self.requests = requests
        self.underWay = underWay
    }

    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        Array(record.stored.record.message.utf8)
    }
    func line(of summary: OutboundSummary) -> [UInt8] { Array(summary.eventID.utf8) }
    func cut(_ line: [UInt8]) -> [UInt8]? { nil }
    func prepare() -> any PreparedBody { Body() }

    mutating func begin(_ body: any PreparedBody, within limit: Duration?) {
        lines = (body as? Body)?.lines ?? []
        let lines = lines
        requests.withLock { $0.append(lines) }
    }

    func answer(to lines: RequestLines) -> DeliveryResult {
        underWay(requests.withLock { $0.count })
        let bad = self.lines.count { $0.contains(refused) }
        guard bad > 0 else { return DeliveryResult(.accepted, ResponseSummary("200")) }
        let answer = PartialAnswer(successful: self.lines.count - bad)
        return DeliveryResult(.partial(answer), ResponseSummary("400"))
    }

    mutating func rereadCredential() -> Bool { false }
}

import IssueCore
import IssueProtocol
import UnixIO

/// A destination that rejects lines with a certain word, and only returns how many it accepted.
struct RefusingShipper: Shipper, ~Copyable {
    final class Body: PreparedBody {
        private(set) var lines: [String] = []
        var isBroken = false
        var count: Int { lines.count }
        func add(_ line: [UInt8]) { lines.append(String(decoding: line, as: UTF8.self)) }
    }

    let refused: String
    /// The lines of each request.
    let requests: Monitor<[[String]]>
    /// Whether to fail with the first body, as if compressing it had failed.
    var breaksFirstBody = false
    /// Called while a request waits for its reply, with the number of the request.
    let underWay: (Int) -> Void

    init(refusing word: String, _ requests: Monitor<[[String]]>, _ underWay: @escaping (Int) -> Void) {
        refused = word
        self.requests = requests
        self.underWay = underWay
    }

    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        Array(record.stored.record.message.utf8)
    }
    func line(of summary: OutboundSummary) -> [UInt8] { Array(summary.eventID.utf8) }
    func line(of correction: OutboundCorrection) -> [UInt8] { Array(correction.eventID.utf8) }
    func cut(_ line: [UInt8]) -> [UInt8]? { nil }
    func prepare() -> any PreparedBody { Body() }

    mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult {
        let lines = (body as? Body)?.lines ?? []
        if breaksFirstBody, requests.withLock({ $0.isEmpty }) || (body as? Body)?.isBroken == true {
            (body as? Body)?.isBroken = true
            requests.withLock { $0.append([]) }
            return DeliveryResult(.again(.reset, retryAfter: nil), ResponseSummary("Compressing the lines failed"))
        }
        underWay(
            requests.withLock { requests in
                requests.append(lines)
                return requests.count
            })
        let bad = lines.count { $0.contains(refused) }
        guard bad > 0 else { return DeliveryResult(.accepted, ResponseSummary("200")) }
        let answer = PartialAnswer(successful: lines.count - bad)
        return DeliveryResult(.partial(answer), ResponseSummary("400"))
    }

    mutating func rereadCredential() -> Bool { false }
}

import IssueProtocol
import UnixIO

/// The tokens, the plan, and everything that the listener records.
struct ListenerState: ~Copyable, Sendable {
    var tokens: Set<String>
    var plan: FaultPlan
    var isEnding = false
    private(set) var accepted: [AcceptedLine] = []
    private(set) var requests: [RecordedRequest] = []
    private var acceptedByID: [String: Int] = [:]
    private var inspector = LineInspector()
    private var requestCount = 0
    private let ledger: LedgerFile?

    init(tokens: Set<String>, plan: FaultPlan, ledger: consuming LedgerFile?) {
        self.tokens = tokens
        self.plan = plan
        self.ledger = ledger
    }

    func stats(connections: Int) -> FakeLogzStats {
        let withID = accepted.count { $0.eventID != nil }
        return FakeLogzStats(
            requests: requests.count, connections: connections, acceptedLines: accepted.count,
            distinctEventIDs: acceptedByID.count, duplicates: withID - acceptedByID.count,
            taggedLines: accepted.count { !$0.tags.isEmpty })
    }

    /// Registers the beginning of a request. Returns its number, its number in the plan, and whether it must not be
    /// read.
    mutating func requestBegan() -> (number: Int, nth: Int, isSilent: Bool) {
        requestCount += 1
        let (nth, isSilent) = plan.requestBegan()
        return (requestCount, nth, isSilent)
    }

    /// Registers the result of a request, and its accepted lines.
    mutating func decided(_ request: RecordedRequest, lines: [AdmissionDecision.Line], typeInQuery: String?) {
        requests.append(request)
        ledger?.append { request.write(to: &$0, event: "request") }
        for line in lines {
            var tags = inspector.tags(of: line.fields, typeInQuery: typeInQuery)
            if line.isBeyondReading { tags.insert(.tooDeep) }
            let accepted = AcceptedLine(
                connection: request.connection, request: request.number, text: line.text, fields: line.fields,
                eventID: line.fields["event_id"]?.asString,
                type: line.fields["type"]?.asString ?? typeInQuery ?? "http-bulk", tags: tags)
            self.accepted.append(accepted)
            if let id = accepted.eventID { acceptedByID[id, default: 0] += 1 }
            ledger?.append { accepted.write(to: &$0, event: "accepted") }
        }
    }

    /// Registers whether the response was sent completely.
    mutating func answered(_ number: Int, completely: Bool) {
        if let index = requests.lastIndex(where: { $0.number == number }) { requests[index].isAnswered = completely }
        ledger?.append { writer in
            writer.object { writer in
                writer.member("event", "answer")
                writer.member("request", Int64(number))
                writer.member("answered", completely)
            }
        }
    }

    /// Discards the plan, the requests and the accepted lines. Keeps the tokens and the ledger file.
    mutating func reset() {
        plan = FaultPlan()
        accepted = []
        requests = []
        acceptedByID = [:]
        inspector = LineInspector()
    }
}

import IssueProtocol
import Issues
import Testing

@Suite("Descriptions of values")
struct DescriptionTests {
    private struct OutOfStock: Error, CustomStringConvertible {
        var description: String { "There is no article 7 any more." }
    }

    @Test("A report is described by location, level, message and metadata")
    func reports() {
        #expect(
            "\(IssueReport("The shelf is empty", level: .warning, metadata: ["shelf": 7], fileID: "Shop/Cart.swift", line: 42))"
                == #"Shop/Cart.swift:42: warning: The shelf is empty {"shelf":7}"#)
        #expect("\(IssueReport("Bare", fileID: "Shop/Cart.swift", line: 1))" == "Shop/Cart.swift:1: error: Bare")
        let caught = IssueReport(OutOfStock(), "Taking an order", fileID: "Shop/Cart.swift", line: 42)
        #expect("\(caught)".hasPrefix("Shop/Cart.swift:42: error: Taking an order: There is no article 7 any more."))
    }

    @Test("A receipt is described by its current state")
    func receipts() async throws {
        try await CollectorFixture.with(faults: [.late]) { fixture in
            let receipt = fixture.reporter.submit(IssueReport("m"))
            #expect("\(receipt)" == "waiting to be stored")
            fixture.collector?.release()
            let id = try await receipt.stored()
            #expect("\(receipt)" == "stored as \(id)")
        }
        let receipt = DaemonReporter(delivery: Delivery(paths: [])).submit(IssueReport("m"))
        #expect("\(receipt)" == "not stored: Delivery is disabled because ISSUED_SOCKET is empty.")
    }

    @Test("A fate is described by destination, outcome, attempts, time and response")
    func fates() {
        let time = IssueTimestamp(millisecondsSince1970: 0)
        func text(
            _ outcome: IssueFate.Outcome, attempts: Int, at time: IssueTimestamp? = nil, answer: String? = nil,
            twice: Bool = false
        ) -> String {
            let fate = IssueFate(
                destination: "logzio", outcome: outcome, attempts: attempts, timestamp: time, answer: answer,
                maybeDuplicate: twice)
            return "\(fate)"
        }
        #expect(text(.pending, attempts: 0) == "logzio: pending")
        #expect(
            text(.delivered, attempts: 1, at: time, answer: "200")
                == "logzio: delivered, 1 attempt, 1970-01-01T00:00:00.000Z, 200")
        #expect(
            text(.deadLettered, attempts: 3, at: time, answer: "400", twice: true)
                == "logzio: dead_lettered, 3 attempts, 1970-01-01T00:00:00.000Z, 400, perhaps received twice")
    }

    @Test("Outcomes and codes are described by their names")
    func words() {
        #expect("\(IssueFate.Outcome.deadLettered)" == "dead_lettered")
        #expect("\(IssueDeliveryError.Code.notFound)" == "not_found")
    }
}

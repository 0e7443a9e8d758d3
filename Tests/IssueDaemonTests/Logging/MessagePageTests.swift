import Foundation
import IssueCore
import IssueProtocol
import Testing

@testable import IssueDaemon

@Suite("The page of messages")
struct MessagePageTests {
    @Test("Documentation/Messages.md is what issued --list-messages prints")
    func page() throws {
        #expect(
            try ShippedFile.text(at: "Documentation/Messages.md") == MessagePage.text,
            "Write it again: issued --list-messages >Documentation/Messages.md")
    }

    @Test("The page has one row for each message, with what happened and what to do")
    func complete() {
        let rows = MessagePage.text.split(separator: "\n").filter { $0.hasPrefix("| `") }
        for event in LogEvent.all {
            let row = rows.filter { $0.hasPrefix("| `\(event.id)` | \(event.message) | ") }
            #expect(row.count == 1, "\(event.id)")
        }
        for row in rows {
            let cells = row.split(separator: " | ").count
            let isReason = ExplainedReason.all.contains { row.hasPrefix("| `\($0.name)` | ") }
            #expect(cells == (row.contains("`org.") || isReason ? 3 : 4) && row.hasSuffix(". |"), "\(row)")
        }
    }

    @Test("Every reason that a destination may have is explained once")
    func reasons() {
        let names = ExplainedReason.all.map(\.name)
        #expect(Set(names).count == names.count)
        let known =
            FailureClass.allCases.map(\.rawValue) + PauseReason.allCases.map(\.rawValue)
            + ["send_rate", "resuming", StoreStatus.failureReason, NotifierStatus.misconfigured]
        #expect(Set(names) == Set(known))
    }

    @Test("All messages differ")
    func messages() {
        #expect(Set(LogEvent.all.map(\.message)).count == LogEvent.all.count)
    }
}

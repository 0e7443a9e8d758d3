import Foundation
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
            #expect(cells == (row.contains("`org.") ? 3 : 4) && row.hasSuffix(". |"), "\(row)")
        }
    }

    @Test("All messages differ")
    func messages() {
        #expect(Set(LogEvent.all.map(\.message)).count == LogEvent.all.count)
    }
}

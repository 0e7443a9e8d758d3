import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The journal's catalog")
struct MessageCatalogTests {
    @Test("config/journal/issued.catalog is what issued --list-catalog prints")
    func file() throws {
        #expect(
            try ShippedFile.text(at: "config/journal/issued.catalog") == MessageCatalog.text,
            "Write it again: issued --list-catalog >config/journal/issued.catalog")
    }

    @Test("Every message has an entry with its meaning, and every entry a subject")
    func complete() {
        let entries = MessageCatalog.text.components(separatedBy: "\n-- ").dropFirst()
        #expect(entries.count == Set(LogEvent.all.map(\.messageID)).count)
        for event in LogEvent.all {
            let entry = entries.first { $0.hasPrefix("\(event.messageID)\n") } ?? ""
            let words = entry.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            #expect(words.contains(MessageCatalog.plain(event.meaning)), "\(event.id)")
            #expect(entry.contains("\nSubject: ") && entry.contains("\nDefined-By: issued\n"))
        }
        #expect(!MessageCatalog.text.contains("`") && !MessageCatalog.text.contains("]("))
    }

    @Test("By default, a message id follows from the identifier; only events of destinations share message ids")
    func ids() {
        #expect(MessageCatalog.messageID(of: "store.no-space") == LogEvent.storeNoSpace.messageID)
        let alone = LogEvent.all.filter { !$0.id.hasPrefix("destination.") }
        #expect(Set(alone.map(\.messageID)).count == alone.count)
        // A change would break filters of operators.
        #expect(LogEvent.storeNoSpace.messageID == "31a401a2a89bb48182f8640c63272aa9")
    }

    @Test("A link becomes its text and, if the text differs from it, its page; other brackets stay")
    func plain() {
        #expect(MessageCatalog.plain("See `a=` in [B](C.md#d), and `[Socket]`.") == "See a= in B (C.md), and [Socket].")
        #expect(MessageCatalog.plain("[RateLimits.md](RateLimits.md).") == "RateLimits.md.")
    }

    private static let journalctl = "/usr/bin/journalctl"

    @Test(
        "journalctl accepts the catalog and finds its entries",
        .enabled(if: FileManager.default.isExecutableFile(atPath: journalctl), "journalctl is missing"))
    func accepted() throws {
        let root = try ScratchFolder()
        let folder = root["usr/lib/systemd/catalog"]
        try FileSystem.makeFolders(folder)
        try FileSystem.writeAtomically(Array(MessageCatalog.text.utf8), to: "\(folder)/issued.catalog")
        let update = try run(["--root=\(root.path)", "--update-catalog"])
        #expect(update.end == .exit(0), "\(update.text)")
        for event in LogEvent.all.prefix(20) {
            let dump = try run(["--root=\(root.path)", "--dump-catalog", event.messageID])
            #expect(dump.end == .exit(0) && dump.text.contains("Subject: \(event.message)"), "\(dump.text)")
        }
    }

    private func run(_ arguments: [String]) throws -> (end: CommandRun.End, text: String) {
        let run = try CommandRun([Self.journalctl] + arguments, environment: [], timeout: .seconds(60))
        return (run.end, String(decoding: run.output, as: UTF8.self))
    }
}

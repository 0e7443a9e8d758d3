import FakeLogz
import Foundation
import IssueProtocol
import Testing

@Suite("The ledger file")
struct LedgerTests {
    private static func lines(of file: URL) throws -> [JSONValue] {
        let content = try String(contentsOf: file, encoding: .utf8)
        return try content.split(separator: "\n").map { try JSONValue(json: String($0)) }
    }

    @Test("Each request, accepted line and response is a JSON line without the token")
    func ledger() throws {
        try withScratchFolder { folder in
            let file = folder.appendingPathComponent("ledger.jsonl")
            var options = FakeLogzOptions(tokens: ["good"], plan: [FaultStep(.resetBeforeAnswer)])
            options.ledger = file.path
            try listening(options) { fake in
                let client = try RawClient(port: fake.port)
                try client.post("{\"event_id\":\"a\"}")
                _ = try client.remainder()
                _ = try fake.answer(to: "{\"event_id\":\"b\"}\nnonsense", headers: ["User-Agent: us"])
            }

            let lines = try Self.lines(of: file)
            #expect(
                lines.map { $0["event"]?.asString } == [
                    "request", "accepted", "answer", "request", "accepted", "answer",
                ])
            #expect(lines[0]["fault"] == "reset_before_answer")
            #expect(lines[0]["status"] == nil)
            #expect(lines[1]["fields"]?["event_id"] == "a")
            #expect(lines[2]["answered"] == false)
            #expect(lines[3]["headers"]?.asArray?.contains(["User-Agent", "us"]) == true)
            #expect(lines[3]["counters"]?["malformedLines"] == 1)
            #expect(lines[3]["wire_bytes"] == 25)
            #expect(lines[5]["answered"] == true)
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("good"))
        }
    }

    @Test("An existing ledger is continued")
    func appends() throws {
        try withScratchFolder { folder in
            var options = FakeLogzOptions(tokens: ["good"])
            options.ledger = folder.appendingPathComponent("ledger.jsonl").path
            for _ in 0..<2 {
                try listening(options) { fake in _ = try fake.answer(to: "{}") }
            }

            #expect(try Self.lines(of: folder.appendingPathComponent("ledger.jsonl")).count == 6)
        }
    }
}

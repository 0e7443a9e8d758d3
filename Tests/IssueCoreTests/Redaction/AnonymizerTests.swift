import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Anonymised records")
struct AnonymizerTests {
    private func message(_ text: String, _ values: String...) throws -> String {
        var anonymizer = Anonymizer()
        return anonymizer.message(text, values: try values.map { try JSONValue(json: $0) })
    }

    @Test("Values become placeholders, and constant text remains")
    func templates() throws {
        #expect(try message("Order 17 of '/srv/a b' took 3 ms") == "Order <n> of <quoted> took <n> ms")
        #expect(try message("Cannot open /srv/ann/notes.txt") == "Cannot open <path>")
        #expect(try message("first\nsecond") == "first second")
    }

    @Test("All rules of redaction apply, whatever the configuration says")
    func redaction() throws {
        for secret in ["ann@example.net", "203.0.113.77", "4111111111111111", "DE89370400440532013000"] {
            #expect(try !message("of \(secret) here").contains(secret))
        }
        #expect(try !message("password=hunter and token: abcdef").contains("hunter"))
    }

    @Test("Words that are also in metadata are replaced, whatever their case")
    func words() throws {
        let text = try message(
            "User Ann of Acme is gone", #"{"user":"ann","list":[{"c":"ACME Corp"}],"n":7,"of":"of"}"#)
        #expect(text == "User <value> of <value> is gone")
    }

    @Test("Metadata keeps keys that look like names, and of values only types, lengths of texts, booleans and nulls")
    func metadata() throws {
        var anonymizer = Anonymizer()
        let value = try JSONValue(
            json:
                #"{"order_id":17,"user":"Ann Smith","ok":true,"none":null,"list":["a",2.5],"ann@example.net":1,"k 1":{}}"#
        )
        let kept = String(decoding: anonymizer.value(value).json, as: UTF8.self)
        #expect(
            kept
                == #"{"order_id":"<number>","user":"<text of 9>","ok":true,"none":null,"list":["<text of 1>","<number>"],"#
                + #""<key>":"<number>","<key>":{}}"#)
    }
}

import Destinations
import Foundation
import HTTPTransfer
import IssueCore
import IssueProtocol
import Testing

/// A response may repeat the credential or a record of another user, and the summary of the response is logged.
@Suite("Text of a response")
struct ForeignTextTests {
    private static let formats: [any HTTPFormat.Type] = [
        LogzFormat.self, ClickHouseFormat.self, ElasticsearchFormat.self, OTLPFormat.self,
    ]

    /// Returns responses that contain a text in each place that a format reads, and in others.
    private static func responses(repeating text: String, status: Int) throws -> [HTTPResponse] {
        func json(_ text: String) throws -> String {
            String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        }
        let quoted = try json(text)
        let number = text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : quoted
        let item = #"{"create":{"_id":\#(quoted),"status":400,"error":{"type":\#(quoted),"reason":\#(quoted)}}}"#
        let bodies = [
            text, "Code: 27. DB::Exception: \(text)", "Code: \(text). DB::Exception",
            #"{"malformedLines":\#(number),"successfulLines":1,"oversizedLines":\#(number),"error":\#(quoted)}"#,
            #"{"successfulLines":\#(number)}"#,
            #"{"errors":true,"items":[\#(item),\#(item)]}"#,
            #"{"items":[{"create":{"status":\#(number)}},{"index":{"status":\#(number),"error":\#(quoted)}}]}"#,
            #"{"partialSuccess":{"rejectedLogRecords":\#(number),"errorMessage":\#(quoted)}}"#,
            #"{"partialSuccess":{"rejectedLogRecords":\#(quoted)}}"#, #"{"partialSuccess":{"rejectedLogRecords":1}}"#,
            quoted, try json(quoted), String(repeating: "x", count: 290) + text,
        ]
        let headers: [HTTPHeaders] = [
            [:], ["X-ClickHouse-Exception-Code": text, "Retry-After": text, "Content-Type": text, "Location": text],
            ["X-ClickHouse-Summary": text],
        ]
        return bodies.flatMap { body in
            headers.map { HTTPResponse(status: status, headers: $0, body: Array(body.utf8)) }
        }
    }

    @Test(
        "The summary has no eight consecutive bytes of a credential or record, whatever part of a response has them",
        arguments: [
            "MARKED+TOKEN/1", "13371337133713", "MARKED%2BTOKEN%2F1", "Card 4111 1111 1111 1111 refused",
            "dXNlcjpNQVJLRUQrVE9LRU4vMQ==", "marked_mapper_failure", "MARKED\u{301}\u{1B}[31m\u{202E}TOKEN",
        ],
        [200, 202, 300, 400, 401, 403, 404, 407, 408, 413, 418, 429, 500, 503])
    func neverShown(text: String, status: Int) throws {
        let pieces = Self.pieces(of: text)
        for format in Self.formats {
            for response in try Self.responses(repeating: text, status: status) {
                let result = format.result(of: response, lines: 2, from: "h:1", at: moment)
                #expect(
                    pieces.isDisjoint(with: Self.pieces(of: result.summary.text)), "\(format.kind): \(result.summary)")
            }
        }
    }

    /// Returns all sequences of eight bytes of a text.
    private static func pieces(of text: String) -> Set<UInt64> {
        var piece: UInt64 = 0
        var pieces: Set<UInt64> = []
        for (index, byte) in text.utf8.enumerated() {
            piece = piece << 8 | UInt64(byte)
            if index >= 7 { pieces.insert(piece) }
        }
        return pieces
    }

    @Test("The summary is one short line of printable ASCII", arguments: 0..<40 as Range<UInt64>)
    func printable(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        let letters = Array("abé\u{1B}\u{202E}\n\r\t\u{0}\"\\{}[]:,🙂7".unicodeScalars).map(Character.init)
        let text = String((0..<60).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
        for format in Self.formats {
            for response in try Self.responses(repeating: text, status: Int.random(in: 200...599, using: &generator)) {
                let summary = format.result(of: response, lines: 2, from: "h:1", at: moment).summary.text
                #expect(summary.utf8.count <= 120 && summary.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
            }
        }
    }

    @Test("The summary shows the counts, codes and known error names of a response")
    func known() {
        func summary<Format: HTTPFormat>(_ format: Format.Type, _ status: Int, _ body: String) -> String {
            Format.result(
                of: HTTPResponse(status: status, body: Array(body.utf8)), lines: 2, from: "h:1", at: moment
            ).summary.text
        }
        let item = #"{"create":{"status":400,"error":{"type":"mapper_parsing_exception","reason":"x"}}}"#
        #expect(
            summary(ElasticsearchFormat.self, 200, #"{"items":[{"create":{"status":201}},\#(item)]}"#)
                == "200: 1 of 2 rejected, 400 mapper_parsing_exception")
        #expect(
            summary(ClickHouseFormat.self, 404, "Code: 60. DB::Exception: Table issued.records does not exist")
                == "404: ClickHouse exception 60")
        #expect(summary(ClickHouseFormat.self, 500, "Code: 999. Other") == "500: ClickHouse exception 999")
        #expect(
            summary(OTLPFormat.self, 200, #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"x"}}"#)
                == "200: 1 of 2 rejected")
        #expect(summary(LogzFormat.self, 400, #"{"successfulLines":1}"#) == "400: 1 of 2 lines rejected")
    }

    @Test("A response of ClickHouse with an exception is not a success, although its status is 200")
    func exceptionWithSuccess() {
        func verdict(_ code: String) -> DeliveryVerdict {
            let response = HTTPResponse(
                status: 200, headers: ["X-ClickHouse-Exception-Code": code, "X-ClickHouse-Summary": "{}"], body: [])
            return ClickHouseFormat.result(of: response, lines: 2, from: "h:1", at: moment).verdict
        }
        #expect(verdict("999") == .again(.serverError, retryAfter: nil))
        #expect(verdict("27") == .partial(PartialAnswer(successful: 0)))
        #expect(verdict("0") == .accepted)
    }
}

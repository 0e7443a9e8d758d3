import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Parsing times")
struct TimeReaderTests {
    private let forms = [
        "2026-11-21T10:00:00.123Z", "2026-11-21T10:00:59.999Z", "2026-11-21T10:00:60.000Z", "2026-11-21T10:01:00.000Z",
        "2026-11-21t10:00:00.123z", "2026-11-21T10:00:00.12Z", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00.123+01:00",
        "2026-11-21T10:00:00.12+1", "2026-13-21T10:00:00.123Z", "2026-02-30T10:00:00.123Z", "2026-11-21T24:00:00.123Z",
        "2026-11-21T10:00:0:.123Z", "2026-11-21T10:00:0/.123Z", "2026-11-21T10:00:00.12:Z", "2026-11-21T10:00:00,123Z",
        "2026-11-21T10:00:00.123", "2026-11-21T10:00-00.123Z", "", "0000-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
    ]

    @Test("Parsing times gives the same result for a text whatever was parsed before")
    func memory() {
        var reader = TimeReader()
        for before in forms {
            for text in forms {
                for text in [before, text] {
                    let bytes = Array("..\(text)..".utf8)
                    let read = reader.milliseconds(bytes.span, from: 2, to: bytes.count - 2)
                    #expect(read == IssueTimestamp(text)?.millisecondsSince1970, "\(text) after \(before)")
                }
            }
        }
    }

    @Test("Parsing times agrees with `IssueTimestamp` for any byte at any position")
    func figures() {
        var reader = TimeReader()
        let good = Array("2026-11-21T10:00:12.345Z".utf8)
        #expect(reader.milliseconds(good.span, from: 0, to: good.count) != nil)
        for index in good.indices {
            for byte in UInt8.min...UInt8.max {
                var text = good
                text[index] = byte
                let expected = IssueTimestamp(text.span, from: 0, to: text.count)?.millisecondsSince1970
                #expect(reader.milliseconds(text.span, from: 0, to: text.count) == expected)
            }
        }
    }
}

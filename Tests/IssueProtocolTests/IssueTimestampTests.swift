import Foundation
import IssueProtocol
import Testing

@Suite("IssueTimestamp")
struct IssueTimestampTests {
    @Test("A time is written and read as by Foundation", arguments: 0..<4)
    func oracle(seed: UInt64) throws {
        var chance = SeededGenerator(seed: seed)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<1000 {
            // Foundation's calendar is Julian before 1582.
            let moment = IssueTimestamp(
                millisecondsSince1970: .random(in: -12_000_000_000_000...253_402_300_799_999, using: &chance))
            let date = Date(timeIntervalSince1970: Double(moment.millisecondsSince1970) / 1000)

            #expect(IssueTimestamp(moment.description) == moment)
            let theirs = try style.parse(moment.description)
            #expect(abs(theirs.timeIntervalSince(date)) < 0.0005, "\(moment.description)")
        }
    }

    @Test("An offset is subtracted", arguments: 0..<2)
    func offsets(seed: UInt64) throws {
        var chance = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let local = IssueTimestamp(millisecondsSince1970: .random(in: 0...4_102_444_800_000, using: &chance))
            let minutes = Int64.random(in: -1439...1439, using: &chance)
            let hour = String(abs(minutes) / 60 + 100).dropFirst()
            let minute = String(abs(minutes) % 60 + 100).dropFirst()
            let text = local.description.dropLast() + (minutes < 0 ? "-" : "+") + hour + ":" + minute

            #expect(
                IssueTimestamp(String(text))?.millisecondsSince1970 == local.millisecondsSince1970 - minutes * 60_000,
                "\(text)")
        }
    }

    @Test("Consecutive days of four centuries are one day apart")
    func days() {
        let first = IssueTimestamp("1800-01-01T00:00:00Z")?.millisecondsSince1970 ?? 0
        for day in 0..<Int64(146_097) {
            let text = IssueTimestamp(millisecondsSince1970: first + day * 86_400_000).description
            guard IssueTimestamp(text)?.millisecondsSince1970 == first + day * 86_400_000 else {
                Issue.record("\(text)")
                return
            }
        }
        #expect(
            IssueTimestamp(millisecondsSince1970: first + 146_097 * 86_400_000).description
                == "2200-01-01T00:00:00.000Z")
    }

    @Test(
        "Every form of RFC 3339 is accepted",
        arguments: [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01 00:00:00Z", 0),
            ("1970-01-01T00:00:00.1Z", 100),
            ("1970-01-01T00:00:00.123456789Z", 123),
            ("1970-01-01T00:00:00.9999Z", 999),
            ("1969-12-31T23:59:59.999Z", -1),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:30:00-00:30", 0),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] as [(String, Int64)])
    func accepted(text: String, milliseconds: Int64) {
        #expect(IssueTimestamp(text)?.millisecondsSince1970 == milliseconds)
    }

    @Test(
        "A text that is not an RFC 3339 time, or is outside the years 0 to 9999, is rejected",
        arguments: [
            "", "now", "1970", "1970-01-01", "1970-01-01T00:00Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00ZZ", " 1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z ", "1970-1-1T00:00:00Z",
            "19700101T000000Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
            "1970-00-01T00:00:00Z", "1970-13-01T00:00:00Z", "1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z",
            "1970-04-31T00:00:00Z", "1900-02-29T00:00:00Z", "2001-02-29T00:00:00Z", "2000-02-30T00:00:00Z",
            "1970-01-01T00:00:00+1:00", "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00+00:60", "-001-01-01T00:00:00Z", "+1970-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
            "1970-01-01T00:00:00,5Z", "１９７０-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
        ])
    func refused(text: String) {
        #expect(IssueTimestamp(text) == nil)
    }

    @Test("Every truncated time is rejected")
    func truncated() {
        let text = "2026-11-21T10:00:00.123+01:30"
        for end in 0..<text.count { #expect(IssueTimestamp(String(text.prefix(end))) == nil) }
    }

    @Test("Extreme times are clamped when written, and never overflow")
    func extremes() {
        #expect(IssueTimestamp(millisecondsSince1970: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(IssueTimestamp(millisecondsSince1970: .min).description == "0000-01-01T00:00:00.000Z")
        #expect(
            IssueTimestamp(millisecondsSince1970: 5).advanced(by: .seconds(Int64.max)).millisecondsSince1970 == .max)
        #expect(
            IssueTimestamp(millisecondsSince1970: -5).advanced(by: .seconds(Int64.min)).millisecondsSince1970 == .min)
        #expect(IssueTimestamp(millisecondsSince1970: 5).advanced(by: .milliseconds(-7)).millisecondsSince1970 == -2)
    }
}

import IssueCommands
import Testing
import UnixIO

/// The replies of a daemon whose socket the user has named may be hostile.
@Suite struct HostileRepliesTests {
    private static let extremes = ["9223372036854775807", "-9223372036854775808"]

    /// Returns variants of a JSON text: one for each of its numbers, in which `number` replaces it, and one in which
    /// `number` replaces all of them.
    private static func variants(of text: String, by number: String) -> [String] {
        let places = text.matches(of: /[:\[,](-?[0-9]+)(?=[,\]}])/).map {
            $0.output.1.startIndex..<$0.output.1.endIndex
        }
        var all = text
        for place in places.reversed() { all.replaceSubrange(place, with: number) }
        return places.map { text[..<$0.lowerBound] + number + text[$0.upperBound...] } + [all]
    }

    @Test("Extreme numbers in a status do not crash status, health or metrics", arguments: extremes)
    func status(number: String) {
        let suppressions = """
            {"destination":"logzio","app":"shop","reason":"group_rate","count":1,"since":"2026-11-21T09:00:00.000Z"},\
            {"destination":"logzio","app":"shop","reason":"group_rate","count":1,"since":"2026-11-21T09:00:00.000Z"}
            """
        let whole = Fixtures.status(Fixtures.logzio, Fixtures.archive, suppressions: suppressions)
            .replacing("\"suppressions\":", with: "\"other_suppressions\":3,\"suppressions\":")
        let replies = Self.variants(of: whole, by: number)
        #expect(replies.count > 30)
        for reply in replies {
            #expect(issuectl(["status"], width: 80, .reply(reply)).output.hasPrefix("issued "))
            #expect(issuectl(["health"], .reply(reply)).output.isEmpty == false)
            #expect(issuectl(["metrics"], .reply(reply)).output.hasSuffix("# EOF\n"))
        }
    }

    @Test("Extreme numbers in the status before or after a flush do not crash the command", arguments: extremes)
    func flush(number: String) {
        let before = Fixtures.status(Fixtures.flushed(pending: 3, delivered: 5))
        let after = "{\"destinations\":[\(Fixtures.flushed(pending: 0, delivered: 8))]}"
        for earlier in Self.variants(of: before, by: number) {
            for later in [after] + Self.variants(of: after, by: number).suffix(1) {
                #expect(issuectl(["flush"], .reply(earlier), .reply(later)).output.hasPrefix("logzio: "))
            }
        }
    }

    @Test("Extreme counts do not crash the histogram", arguments: extremes)
    func histogram(number: String) {
        let series = #"{"key":"shop","counts":[0,1,600,1200,5,6,7,8]}"#
        for series in Self.variants(of: series, by: number) {
            let reply = #"{"start":"2026-11-21T09:00:00.000Z","series":[\#(series)]}"#
            for dimension in [[], ["--by", "app"]] {
                let output = issuectl(["histogram"] + dimension, width: 30, .reply(reply)).output
                // A sum that is not positive counts as no records.
                let expected = output.contains("RECORDS") || output == "No records match.\n"
                #expect(expected, "\(output)")
            }
        }
    }
}

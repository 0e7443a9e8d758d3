import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol
import Testing

@Suite struct RetryAfterTests {
    /// Returns the wait for a 503 response with this header; by default, at 10:00:00.123 on 21 November 2026.
    private func wait(_ value: String, at now: IssueTimestamp = moment) -> Duration? {
        let response = HTTPResponse(status: 503, headers: ["Retry-After": value])
        let answer = LogzFormat.result(of: response, lines: 0, from: "h:1", at: now)
        guard case .again(.overloaded, let wait) = answer.verdict else { return nil }
        return wait
    }

    @Test("A number is a wait in seconds", arguments: [("0", 0), ("1", 1), ("120", 120), (" 7 ", 7), ("3600", 3600)])
    func seconds(value: String, seconds: Int) {
        #expect(wait(value) == .seconds(seconds))
    }

    @Test("An excessive number of seconds is limited", arguments: ["99999999999", "99999999999999999999"])
    func bounded(value: String) {
        #expect(wait(value) == .seconds(365 * 86_400))
    }

    @Test(
        "A date in any of the three HTTP formats is compared with the clock",
        arguments: [
            "Sat, 21 Nov 2026 10:01:00 GMT", "Saturday, 21-Nov-26 10:01:00 GMT", "Sat Nov 21 10:01:00 2026",
        ])
    func dates(value: String) {
        #expect(wait(value) == .milliseconds(59_877))
    }

    @Test("A day of one digit may be preceded by a space")
    func shortDay() throws {
        let now = try #require(IssueTimestamp("2026-11-06T08:49:30Z"))
        #expect(wait("Fri Nov  6 08:49:37 2026", at: now) == .seconds(7))
    }

    @Test("A two-digit year that would be more than 50 years ahead is in the past")
    func shortYear() {
        #expect(wait("Sunday, 06-Nov-94 08:49:37 GMT") == .zero)
        #expect(wait("Sunday, 06-Nov-76 08:49:37 GMT") == .seconds(365 * 86_400))
    }

    @Test(
        "A date in the past means no wait",
        arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func past(value: String) {
        #expect(wait(value) == .zero)
    }

    @Test(
        "An invalid value is ignored",
        arguments: [
            "", " ", "soon", "-1", "1.5", "1e3", "0x10", "１２", "Sat, 21 Nov 2026 10:01:00",
            "Sat, 21 Nov 2026 10:01:00 CET",
            "Sat, 32 Nov 2026 10:01:00 GMT", "Sat, 21 Foo 2026 10:01:00 GMT", "Sat, 21 Nov 2026 25:01:00 GMT",
            "Saturday, 21-Nov-2026 10:01:00 GMT", "Saturday, 21-Nov 10:01:00 GMT", "a b c d e f", "a b c d e",
            "Sat, 21 Nov 99999999999999999999 10:01:00 GMT", "Sat, -1 Nov 2026 10:01:00 GMT",
        ])
    func junk(value: String) {
        #expect(wait(value) == nil)
    }
}

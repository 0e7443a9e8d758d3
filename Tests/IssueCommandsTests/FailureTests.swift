import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("Failures")
struct FailureTests {
    @Test("Without a daemon the command ends with 69 and says what to do")
    func unreachable() {
        let outcome = issuectl(["--socket", "/absent.sock", "list"])
        #expect(outcome.code == .unavailable)
        #expect(
            outcome.errors
                == "issuectl: no daemon answers at /absent.sock (No such file or directory (ENOENT)): is issued running? (systemctl status issued)\n"
        )
        #expect(issuectl(["--socket", "/absent.sock", "report", "m"]).code == .unavailable)
    }

    @Test(
        "Each failure has its exit code and one line with what to do",
        arguments: [
            (
                CollectorConnectionError.switchedOff, ExitCode.unavailable,
                "ISSUED_SOCKET is empty, which switches issues off: unset it, or give --socket"
            ),
            (.closed, .unavailable, "the daemon has closed the connection: see journalctl -u issued"),
            (.timedOut, .tryAgain, "the daemon has not answered in time: try again"),
            (
                .malformed("x"), .refused,
                "the daemon's answer can't be read (x): are issuectl and issued of one version?"
            ),
            (
                .unusablePath(.empty), .usage,
                "the socket's path can't be used: A socket needs a path, or a name behind the @."
            ),
            (
                .refused(.notFound(id: "r\u{1B}1")), .refused,
                "there is nothing with the id 'r\\x1b1' that you may see: see issuectl list"
            ),
            (
                .refused(.denied), .refused,
                "only operators may do that: be root, or in a group named by Operators= in issued.conf"
            ),
            (.refused(.busy(retryAfter: .milliseconds(1500))), .tryAgain, "the daemon is busy: try again in 2 s"),
            (.refused(.busy(retryAfter: .zero)), .tryAgain, "the daemon is busy: try again in 1 s"),
            (
                .refused(.noSpace), .tryAgain,
                "the daemon has not enough space left on its disk (KeepFree= is to stay free): make room, then try again"
            ),
            (
                .refused(.invalidFilter(field: "text", reason: "too long")), .refused,
                "the daemon can't use the filter 'text': too long"
            ),
            (
                .refused(.invalidFilter(field: "bucket", reason: "at most 1000 are counted")), .refused,
                "this time can't be counted in such buckets: at most 1000 are counted"
            ),
            (
                .refused(.methodNotImplemented("x")), .refused,
                "this daemon does not offer that: is it older than issuectl? (issuectl status)"
            ),
        ])
    func failures(failure: CollectorConnectionError, code: ExitCode, message: String) {
        let outcome = issuectl(["show", "r1"], .failure(failure))
        #expect(outcome.code == code)
        #expect(outcome.errors == "issuectl: \(message)\n")
        #expect(outcome.output == "")
    }

    @Test("An answer of the wrong shape is a failure, not a crash", arguments: ["{}", "[]", "{", #"{"group":7}"#, ""])
    func wrongShape(reply: String) {
        let outcome = issuectl(["show", "r1"], .reply(reply))
        #expect(outcome.code == .refused)
        #expect(outcome.errors.hasPrefix("issuectl: the daemon's answer can't be read ("))
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test(
        "Hostile text of a record never reaches the terminal as it is",
        arguments: [["list"], ["list", "--json"], ["list", "--ndjson"]])
    func hostile(words: [String]) {
        let reply = Fixtures.groups(Fixtures.hostileGroup).replacing("\\u009b", with: "\u{9B}")
        let outcome = issuectl(words, width: 80, .reply(reply))
        #expect(outcome.output.contains("owned"))
        for scalar in outcome.output.unicodeScalars where scalar != "\n" {
            #expect(scalar.properties.generalCategory != .control)
        }
    }
}

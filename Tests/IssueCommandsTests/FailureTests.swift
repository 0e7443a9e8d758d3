import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("Failures")
struct FailureTests {
    @Test("Without a daemon, the command exits with 69 and suggests what to do")
    func unreachable() {
        let outcome = issuectl(["--socket", "/absent.sock", "list"])
        #expect(outcome.code == .unavailable)
        #expect(
            outcome.errors
                == "issuectl: cannot reach the daemon at /absent.sock (No such file or directory (ENOENT)): is issued running? (systemctl status issued.service issued.socket; for another socket, use --socket or ISSUED_SOCKET)\n"
        )
        let report = issuectl(["--socket", "/absent.sock", "report", "m"])
        #expect(report.code == .unavailable)
        #expect(report.errors.hasSuffix("; to save the report and send it later, use --spool\n"))
    }

    @Test(
        "Each failure has an exit code and an error of one line",
        arguments: [
            (
                CollectorConnectionError.disabled, ExitCode.unavailable,
                "ISSUED_SOCKET is empty, which disables reporting: unset it, or use --socket"
            ),
            (
                .closed, .tryAgain,
                "the daemon closed the connection: try again, and if it does so again, see journalctl -u issued"
            ),
            (.timedOut, .tryAgain, "the daemon did not reply in time: try again"),
            (
                .unreachable(path: "/s", .accessDenied), .unavailable,
                "permission denied for the socket /s: see issuectl doctor"
            ),
            (
                .malformed("x"), .refused,
                "the daemon's reply is invalid (x): are issuectl and issued the same version?"
            ),
            (
                .unusablePath(.empty), .usage,
                "cannot use the socket: The socket path is empty."
            ),
            (
                .refused(.notFound(id: "r\u{1B}1")), .refused,
                "no record or group 'r\\x1b1', or it belongs to another user: see issuectl list"
            ),
            (
                .refused(.denied), .refused,
                "permission denied: only root, the daemon's user and the groups in Operators= (issued.conf) may do this"
            ),
            (.refused(.busy(retryAfter: .milliseconds(1500))), .tryAgain, "the daemon is busy: try again in 2 s"),
            (.refused(.busy(retryAfter: .zero)), .tryAgain, "the daemon is busy: try again in 1 s"),
            (
                .refused(.tooSlow(retryAfter: .zero)), .tryAgain,
                "the query took too long, so the daemon ended it: narrow the query, for example to a shorter period"
            ),
            (
                .refused(.noSpace), .tryAgain,
                "the daemon's disk is full (KeepFree= reserves some space): free some space, then try again"
            ),
            (
                .refused(.invalidFilter(field: "text", reason: "too long")), .usage,
                "invalid value for --text: too long"
            ),
            (
                .refused(.invalidFilter(field: "groups", reason: "g1 and g2 belong to different users")), .refused,
                "invalid groups: g1 and g2 belong to different users"
            ),
            (
                .refused(.invalidFilter(field: "template", reason: "no record of the group matches")), .refused,
                "invalid value for --template: no record of the group matches"
            ),
            (
                .untrusted(path: "/etc/passwd", reason: "it is not a socket"), .unavailable,
                "/etc/passwd is not a socket"
            ),
            (
                .untrusted(path: "/srv/app/s", reason: "other users can write to its folder"), .unavailable,
                "the socket /srv/app/s is not trusted, because other users can write to its folder: "
                    + "chmod go-w /srv/app"
            ),
            (
                .refused(.invalidFilter(field: "bucket", reason: "at most 1000 are allowed")), .usage,
                "invalid value for --bucket: at most 1000 are allowed"
            ),
            (
                .refused(.invalidFilter(field: "destination", reason: #"there is no destination "x""#)), .refused,
                #"there is no destination "x""#
            ),
            (
                .refused(.invalidFilter(field: "field", reason: "all records have no code")), .refused,
                "invalid value for --by: all records have no code"
            ),
            (
                .refused(.invalidParameter("resolved_in")), .usage,
                "the daemon rejected --in: it is empty, too long or otherwise invalid"
            ),
            (
                .refused(.invalidParameter("apps")), .usage,
                "the daemon rejected --app: it is empty, too long or otherwise invalid"
            ),
            (
                .refused(.methodNotFound("x")), .refused,
                "the daemon does not support this: is it older than issuectl? (issuectl status)"
            ),
        ])
    func failures(failure: CollectorConnectionError, code: ExitCode, message: String) {
        let outcome = issuectl(["show", "r1"], .failure(failure))
        #expect(outcome.code == code)
        #expect(outcome.errors == "issuectl: \(message)\n")
        #expect(outcome.output == "")
    }

    @Test("A condition that the daemon rejects is named by its option")
    func conditions() {
        for (name, _) in JSONMembers.names(of: IssueFilter.self) where name != "since_deploy" {
            let outcome = issuectl(["show", "r1"], .failure(.refused(.invalidParameter(name))))
            #expect(outcome.errors.hasPrefix("issuectl: the daemon rejected --"), "\(name)")
        }
    }

    @Test("A reply of the wrong shape is a failure, not a crash", arguments: ["{}", "[]", "{", #"{"group":7}"#, ""])
    func wrongShape(reply: String) {
        let outcome = issuectl(["show", "r1"], .reply(reply))
        #expect(outcome.code == .refused)
        #expect(outcome.errors.hasPrefix("issuectl: the daemon's reply is invalid ("))
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test(
        "Hostile text of a group never reaches the terminal unescaped",
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

/// The command line of the program.
struct FakeLogzArguments: Hashable, Sendable {
    static let help = """
        usage: fake-logz [--token TOKEN]… [option]…

        Listens on 127.0.0.1 and responds like the HTTP listener of Logz.io. Prints one line
        of JSON with its ports, and serves until its standard input closes, it gets SIGTERM,
        or the control port receives POST /quit; for 10 minutes at most.

          --token TOKEN              accept this token (repeatable)
          --port N                   the port of the listener (default: any free one)
          --control-port N           the control port for tests (default: any free one)
          --ledger FILE              append each request and each accepted line as JSON
          --plan JSON                simulate faults: [{"match": {"nth", "token", "minBytes", "path"},
                                     "times": N or "forever", "fault": "read_silent" or
                                     {"status": {"code": 503, "headers": {"Retry-After": "2"}}}}, …]
          --limit-applies-to WHAT    which size of a compressed body is limited to 10 MB:
                                     wire, inflated or both (default: both)
          --allow-empty-lines        respond with 200 if blank lines are the only errors
          --strict                   respond to /expect with 409 if a line has a tag: a problem that the
                                     service would find only after its 200
          --keep-running             keep running without standard input, and beyond 10 minutes
          --help                     print this help

        Control: GET /stats /requests?since=N /accepted /wait?accepted=N&requests=N&timeout=SECONDS,
        POST /plan /tokens /expect /reset /down /up /quit.

        Faults: down {ms}, blackhole {ms}, flap {up, down}, auth_flip {after}, accept_silent,
        read_silent, slow_answer {ms}, slow_read {bytesPerSec}, drip {ms}, status {code, headers, body}, 413_late,
        413_early {reset}, 413_above {bytes}, 400_poison {substring}, 400_all, 400_no_body,
        400_bad_json, reset_mid_body {after}, reset_before_answer, reset_on {substring},
        truncated_answer, garbage, huge_answer {bytes}, keepalive_close {crossing}.

        """

    private(set) var options = FakeLogzOptions()
    private(set) var keepsRunning = false
    private(set) var wantsHelp = false

    init(_ arguments: [String]) throws(FakeLogzUsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            // Both --option VALUE and --option=VALUE.
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 2, argument.hasPrefix("--") {
                guard try take(parts[0], value: parts[1]) else {
                    throw FakeLogzUsageError("unknown option \(argument)")
                }
            } else if !takeSwitch(argument) {
                guard let value = rest.first else {
                    throw FakeLogzUsageError("unknown option, or one without its value: \(argument)")
                }
                guard try take(argument, value: value) else {
                    throw FakeLogzUsageError("unknown option \(argument)")
                }
                rest.removeFirst()
            }
        }
    }

    private mutating func takeSwitch(_ name: String) -> Bool {
        switch name {
        case "--help", "-h": wantsHelp = true
        case "--keep-running": keepsRunning = true
        case "--strict": options.isStrict = true
        case "--allow-empty-lines": options.emptyLineIsError = false
        default: return false
        }
        return true
    }

    private mutating func take(_ name: String, value: String) throws(FakeLogzUsageError) -> Bool {
        switch name {
        case "--port": options.port = try Self.port(value)
        case "--control-port": options.controlPort = try Self.port(value)
        case "--token": options.tokens.insert(value)
        case "--ledger": options.ledger = value
        case "--plan":
            do throws(FaultPlanError) {
                options.plan = try FaultStep.steps(json: Array(value.utf8))
            } catch {
                throw FakeLogzUsageError("--plan: \(error)")
            }
        case "--limit-applies-to":
            guard let scope = SizeLimitScope(rawValue: value) else {
                throw FakeLogzUsageError("--limit-applies-to is wire, inflated or both")
            }
            options.limitAppliesTo = scope
        default: return false
        }
        return true
    }

    private static func port(_ text: String) throws(FakeLogzUsageError) -> UInt16 {
        guard let port = UInt16(text) else { throw FakeLogzUsageError("\(text) is not a port") }
        return port
    }
}

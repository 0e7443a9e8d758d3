import IssueBrowsing
import IssueProtocol
import Issues
package import UnixIO

/// A command of `issuectl`.
protocol Command: Sendable, SendableMetatype {
    /// The description for the parser and the help.
    static var specification: CommandSpecification { get }

    /// Creates the command from its arguments. Relative times refer to `now`.
    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError)

    /// Runs the command. Blocks the calling thread. Throws if the exit code is not 0, or if standard output cannot be
    /// written to (`CommandFailure.outputClosed`).
    func run(in context: CommandContext) throws(CommandFailure)
}

/// Everything that a command needs except its arguments.
struct CommandContext {
    var environment: (String) -> String?
    var now: IssueTimestamp
    var terminal: TerminalInfo
    var input: any CommandInput
    var output: any CommandOutput
    var files: FileSaving
    var reporting: ReportEnvironment
    var sql: SQLAccess
    var tools: HostTools
    var makeLink: LinkFactory

    // The common options.
    var format = OutputFormat.human
    var painter = Painter(isColored: false)
    var socket: String?
    /// The maximum time to wait for the reply to a query (`--timeout`).
    var timeout: Duration = .seconds(30)

    /// The time to wait for a reply before a note is printed to standard error.
    private static let noticeableDelay: Duration = .seconds(2)

    /// Whether a connection to the daemon was established.
    let hasConnected = Flag()

    final class Flag {
        var value = false
    }

    /// Returns a user's id and, if there is one, the name, such as `1000 (anna)`.
    func user(_ id: some BinaryInteger) -> String {
        let name = UInt32(exactly: id).flatMap(tools.userName)
        return name.map { "\(id) (\($0))" } ?? "\(id)"
    }

    /// The width of tables; nil if it is unlimited.
    var width: Int? { terminal.tableWidth(environment) }

    /// Returns an empty table that is at most `width` columns wide.
    func table(_ columns: [Column]) -> Table { Table(columns, width: width, painter: painter) }

    /// Connects to the daemon. The user is told if the reply to a query takes long.
    func connect() throws(CollectorConnectionError) -> any BrowserLink {
        let link = try makeLink(socket)
        hasConnected.value = true
        link.onDelay(of: Self.noticeableDelay) { warn("waiting for the reply of the daemon") }
        return link
    }

    /// Connects to the daemon and returns a session for queries.
    ///
    /// - Parameters:
    ///   - notFound: Returns the error message for an id that the daemon does not find; nil for the default message.
    ///   - denied: The error message if permission is denied; nil for the default message.
    func collector(
        notFound: ((_ id: String) -> String)? = nil, denied: String? = nil
    ) throws(CommandFailure) -> Collector {
        do throws(CollectorConnectionError) {
            var hasWarned = false
            let sleep = { (pause: Duration) in
                if !hasWarned { warn("the daemon is busy; trying again") }
                hasWarned = true
                reporting.sleep(pause)
            }
            return Collector(link: try connect(), timeout: timeout, sleep: sleep) { failure in
                if case .refused(.notFound(let id)) = failure, let notFound {
                    return CommandFailure(.refused, notFound(id))
                }
                if case .refused(.denied) = failure, let denied { return CommandFailure(.refused, denied) }
                return CommandFailure(failure)
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    func print(_ lines: [String]) throws(CommandFailure) {
        guard !lines.isEmpty else { return }
        try print(bytes: Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    func print(_ line: String) throws(CommandFailure) {
        try print([line])
    }

    /// Prints a line if the output is for users, and nothing if it is JSON.
    func printNote(_ line: String) throws(CommandFailure) {
        if format == .human { try print(line) }
    }

    /// Prints a text that consists of whole lines.
    func print(text: String) throws(CommandFailure) {
        try print(bytes: Array(text.utf8))
    }

    /// Prints JSON and a line feed. Escapes characters that a terminal would interpret.
    func print(json: [UInt8]) throws(CommandFailure) {
        try print(bytes: TerminalSafeJSON.escape(json) + [UInt8(ascii: "\n")])
    }

    /// Prints a reply.
    ///
    /// - Parameters:
    ///   - answer: The reply.
    ///   - member: The member of the reply whose elements `--ndjson` prints; nil to print the whole reply.
    ///   - printsOtherMembers: Whether `--ndjson` prints the other members on the first line.
    ///   - text: Returns the lines for users.
    func print<Reply>(
        _ answer: BrowserReply<Reply>, elements member: String? = nil, printsOtherMembers: Bool = false,
        text: (Reply) -> [String]
    ) throws(CommandFailure) {
        switch (format, member) {
        case (.human, _): try print(text(answer.value))
        case (.lines, let member?):
            if printsOtherMembers {
                let members = (try? JSONValue(json: answer.json))?.asObject ?? []
                try print(json: JSONValue.object(members.filter { $0.key != member }).json)
            }
            for element in answer.elements(of: member) { try print(json: element) }
        case (.json, _), (.lines, nil): try print(json: answer.json)
        }
    }

    /// Prints a list as text, as one JSON document, or as one line of JSON per element.
    ///
    /// - Parameters:
    ///   - member: The name of the list in the document.
    ///   - elements: The JSON of each element.
    ///   - text: Returns the lines of text.
    func print(_ member: String, _ elements: [[UInt8]], text: () -> [String]) throws(CommandFailure) {
        switch format {
        case .human: try print(text())
        case .json: try print(json: PrettyJSON.document(member, elements))
        case .lines: for element in elements { try print(json: element) }
        }
    }

    private func print(bytes: [UInt8]) throws(CommandFailure) {
        guard output.write(bytes) else { throw .outputClosed }
    }

    /// Asks the user for confirmation. Returns `false` unless the answer is yes.
    func confirm(_ question: String) throws(CommandFailure) -> Bool {
        try print(bytes: Array("\(TerminalSanitizer.line(question)) [y/N] ".utf8))
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), let more = input.read() { answer += more }
        let word = String(decoding: answer, as: UTF8.self).lowercased().prefix { $0 != "\n" && $0 != "\r" }
        return word == "y" || word == "yes"
    }

    /// Shows the progress of a job if the output is a terminal and not JSON. Each text replaces the previous one; an
    /// empty text only removes the previous one.
    func publishProgress(_ text: String) {
        guard terminal.isTerminal, format == .human else { return }
        output.writeError(Array("\r\u{1B}[K\(TerminalSanitizer.line(text))".utf8))
    }

    /// Runs an operation that shows its progress. Removes the progress when the operation has ended or failed.
    func withProgress<Result>(_ operation: () throws(CommandFailure) -> Result) throws(CommandFailure) -> Result {
        defer { publishProgress("") }
        return try operation()
    }

    /// Runs a long operation, shows its progress, and returns its last reply.
    func runOperation<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, on collector: Collector,
        progress: (Reply) -> String
    ) throws(CommandFailure) -> BrowserReply<Reply> {
        try withProgress { () throws(CommandFailure) in
            try collector.runOperation(call, parameters) { publishProgress(progress($0)) }
        }
    }

    /// Runs `body` for each argument, even after the daemon has refused one of them, such as an unknown id. Prints each
    /// refusal to standard error, unless there is only one argument. Any other failure ends the loop, because the next
    /// call would fail as well.
    ///
    /// - Returns: The failure that the command must throw after it has printed its results; nil if there was none.
    func forEach(
        _ arguments: [String], _ body: (String) throws(CommandFailure) -> Void
    ) -> CommandFailure? {
        var failure: CommandFailure?
        for argument in arguments {
            do throws(CommandFailure) {
                try body(argument)
            } catch {
                guard arguments.count > 1, error.code == .refused, let message = error.message else { return error }
                warn(message)
                failure = CommandFailure(.refused, nil)
            }
        }
        return failure
    }

    /// Ends a command with several arguments: with `--json`, prints their results as one document, unless `forEach` ended
    /// early without a result. The result of a single argument has been printed already.
    ///
    /// - Throws: `failure`, the one that `forEach` returned, or the failure to print.
    func finish(
        _ arguments: [String], _ member: String, _ results: [[UInt8]], _ failure: CommandFailure?
    ) throws(CommandFailure) {
        let wasProcessed = failure.map { $0.code == .refused } ?? true
        if format == .json, arguments.count > 1, wasProcessed || !results.isEmpty {
            try print(json: PrettyJSON.document(member, results))
        }
        if let failure { throw failure }
    }

    /// Prints a message to standard error, on one line.
    func warn(_ message: String) {
        output.writeError(Array("issuectl: \(TerminalSanitizer.line(message))\n".utf8))
    }
}

/// The format of the output.
package enum OutputFormat: Sendable {
    /// Tables and text for users.
    case human
    /// One JSON document.
    case json
    /// One JSON object per line.
    case lines
}

/// A session with the daemon whose errors are `CommandFailure`.
typealias Collector = BrowserSession<CommandFailure>

/// The reason why a command failed: a line for the user and an exit code for scripts.
package struct CommandFailure: Error, Equatable, Sendable {
    package var code: ExitCode
    /// A description of the failure and of what to do, without a full stop; nil to print nothing.
    package var message: String?

    package init(_ code: ExitCode, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// Ends the command because standard output cannot be written to. The exit code is 0, because the reader may have
    /// closed it, as `head` does. `StandardOutput` reports any other error, and the process then exits with 1.
    static let outputClosed = CommandFailure(.success, nil)
}

extension CommandFailure {
    /// Creates the failure for a failed call.
    init(_ failure: CollectorConnectionError) {
        switch failure {
        case .unreachable(let path, .accessDenied):
            self.init(.unavailable, "permission denied for the socket \(path): see issuectl doctor")
        case .unreachable(let path, let reason):
            let hint =
                "is issued running? (systemctl status issued.service issued.socket; for another socket, use --socket or "
                + "ISSUED_SOCKET)"
            self.init(.unavailable, "cannot reach the daemon at \(path) (\(reason)): \(hint)")
        case .untrusted(let path, ServerTrust.notASocket): self.init(.unavailable, "\(path) is not a socket")
        case .untrusted(let path, let reason):
            let hint =
                ServerTrust.isAboutUser(reason)
                ? "start issued, or set ISSUED_SOCKET_USER to the user whose socket you trust"
                : "chmod go-w \(FileSystem.parentFolder(of: path))"
            self.init(.unavailable, "the socket \(path) is not trusted, because \(reason): \(hint)")
        case .disabled:
            self.init(.unavailable, "ISSUED_SOCKET is empty, which disables reporting: unset it, or use --socket")
        case .unusablePath(let reason): self.init(.usage, "cannot use the socket: \(reason)")
        case .closed:
            self.init(
                .tryAgain,
                "the daemon closed the connection: try again, and if it does so again, see journalctl -u issued")
        case .timedOut: self.init(.tryAgain, "the daemon did not reply in time: try again")
        case .malformed(let reason):
            self.init(
                .refused, "the daemon's reply is invalid (\(reason)): are issuectl and issued the same version?")
        case .refused(let error): self.init(error)
        }
    }

    /// Returns the error message for a user who may not see `subject`, because that requires the right to see all
    /// records.
    static func deniedToSee(_ subject: String) -> String {
        "permission denied: only root, the daemon's user and the groups in Operators= and Readers= (issued.conf) see "
            + subject
    }

    /// Options and arguments by the names of their parameters in calls.
    private static let argumentNames = [
        "app": "APP", "version": "VERSION", "at": DeployCommand.at.spelling, "commit": DeployCommand.commit.spelling,
        "note": DeployCommand.note.spelling, "reason": GroupCommand.reason.spelling,
        "until": EndOptions.until.spelling, "until_count": MuteCommand.untilCount.spelling,
        "resolved_in": ResolveCommand.fixedIn.spelling, "resolved_in_next": ResolveCommand.fixedInNext.spelling,
        "limit": PagingOptions.limit.spelling,
    ]

    private init(_ error: CollectorError) {
        switch error {
        case .notFound(let id):
            let hint = "see issuectl list"
            self.init(.refused, "no record or group '\(id)', or it belongs to another user: \(hint)")
        case .unreadable(let id):
            self.init(
                .refused,
                "the record '\(id)' is in a damaged block of the database and can't be read: see issuectl doctor")
        case .denied:
            self.init(
                .refused,
                "permission denied: only root, the daemon's user and the groups in Operators= (issued.conf) may do this"
            )
        case .busy(let delay):
            let seconds = max(1, delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
            self.init(.tryAgain, "the daemon is busy: try again in \(RelativeTime.span(seconds: UInt64(seconds)))")
        case .tooSlow:
            self.init(
                .tryAgain,
                "the query took too long, so the daemon ended it: narrow the query, for example to a shorter period")
        case .noSpace:
            self.init(
                .tryAgain,
                "the daemon's disk is full (KeepFree= reserves some space): free some space, then try again"
            )
        case .tooLarge(let limit):
            self.init(
                .refused, "the request has more bytes or records than the daemon accepts (limit \(limit)): send less")
        case .invalidFilter("bucket", let reason):
            self.init(.usage, "invalid value for \(HistogramCommand.bucket.spelling): \(reason)")
        // The pattern is invalid. Or, for a split, it matches none or all of the group's records; or, for a rule, it
        // matches too many groups.
        case .invalidFilter("template", let reason):
            self.init(.refused, "invalid value for \(GroupCommand.template.spelling): \(reason)")
        case .invalidFilter("field", let reason):
            self.init(.refused, "invalid value for \(GroupCommand.by.spelling): \(reason)")
        // The operands of `group merge`, too many `--group` options, or an abbreviated id that the command did not
        // complete.
        case .invalidFilter("groups", let reason): self.init(.refused, "invalid groups: \(reason)")
        case .invalidFilter("records", let reason): self.init(.usage, "too many IDs: \(reason)")
        // The arguments are valid, but the destination does not exist, the group has no merge to undo, or there are too
        // many corrections or silences.
        case .invalidFilter("destination", let reason), .invalidFilter("group", let reason),
            .invalidFilter("silence", let reason):
            self.init(.refused, reason)
        case .invalidFilter(let field, let reason):
            if let option = FilterOptions.option(forMember: field) {
                self.init(.usage, "invalid value for \(option.spelling): \(reason)")
            } else {
                self.init(.refused, "invalid filter '\(field)': \(reason)")
            }
        case .invalidRecord(let index, let field, let reason):
            let location = [index.map { "record \($0 + 1)" }, field].compactMap(\.self).joined(separator: ", ")
            self.init(.refused, "the daemon rejected \(location.isEmpty ? "the report" : location): \(reason)")
        case .methodNotFound, .interfaceNotFound, .expectedMore:
            self.init(.refused, "the daemon does not support this: is it older than issuectl? (issuectl status)")
        case .invalidParameter(let name):
            let argument =
                FilterOptions.option(forMember: name)?.spelling ?? Self.argumentNames[name] ?? "'\(name)'"
            self.init(.usage, "the daemon rejected \(argument): it is empty, too long or otherwise invalid")
        case .unknown(let name, _): self.init(.refused, "the daemon returned an unknown error: \(name)")
        }
    }
}

extension CollectorConnectionError {
    /// Whether the same call may succeed later.
    var isTemporary: Bool {
        switch self {
        case .unreachable, .untrusted, .closed, .timedOut, .refused(.busy), .refused(.noSpace): true
        case .disabled, .unusablePath, .refused, .malformed: false
        }
    }
}

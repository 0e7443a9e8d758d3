package import IssueBrowsing
package import IssueProtocol
internal import Issues
import UnixIO

/// The program `issuectl`, apart from the process in which it runs.
///
/// Everything it depends on is given to it, so that tests see the whole of
/// what a person would see, byte for byte.
package struct IssueControl {
    private static let commands: [any Command.Type] = [
        ReportCommand.self, ListCommand.self, RecordsCommand.self, ShowCommand.self, FollowCommand.self,
        HistogramCommand.self,
        ResolveCommand.self, MuteCommand.self, ReopenCommand.self, StatusCommand.self, FlushCommand.self,
        DeadLettersCommand.self, BackupCommand.self, RepairCommand.self,
        PurgeCommand.self,
    ]

    private let environment: (String) -> String?
    private let now: Timestamp
    private let terminal: TerminalInfo
    private let input: any CommandInput
    private let output: any CommandOutput
    private let connect: BrowserLinking
    private let files: FileSaving
    private let reporting: ReportSurroundings

    package init(
        environment: @escaping (String) -> String?, now: Timestamp, terminal: TerminalInfo,
        input: any CommandInput, output: any CommandOutput,
        files: FileSaving, reporting: ReportSurroundings,
        connect: @escaping BrowserLinking
    ) {
        self.environment = environment
        self.now = now
        self.terminal = terminal
        self.input = input
        self.output = output
        self.files = files
        self.reporting = reporting
        self.connect = connect
    }

    /// Does what the arguments, without the program's name, ask for.
    package func run(_ arguments: [String]) -> ExitCode {
        do throws(CommandFailure) {
            return try dispatch(arguments)
        } catch {
            if let message = error.message { complain(message) }
            return error.code
        }
    }

    private func dispatch(_ words: [String]) throws(CommandFailure) -> ExitCode {
        let common: ParsedArguments
        let rest: ArraySlice<String>
        do throws(UsageError) {
            let (arguments, count) = try ArgumentParser(CommonOptions.leading).parseLeading(words)
            common = arguments
            rest = words[count...].drop { $0 == "--" }
        } catch {
            throw CommandFailure(.usage, "\(error.message). See issuectl --help")
        }
        if common.has(CommonOptions.version) { return say("issuectl \(ProductVersion.text)\n") }
        guard let name = rest.first else {
            guard common.has(CommonOptions.help) else {
                throw CommandFailure(.usage, "which command? See issuectl --help")
            }
            return say(generalHelp)
        }
        if name == "help" {
            guard let topic = rest.dropFirst().first else { return say(generalHelp) }
            return say(help(of: try command(named: topic).specification))
        }
        return try run(try command(named: name), Array(rest.dropFirst()), common)
    }

    private func run(
        _ type: any Command.Type, _ words: [String], _ common: ParsedArguments
    ) throws(CommandFailure) -> ExitCode {
        let specification = type.specification
        let command: any Command
        let context: CommandContext
        var arguments = common
        do throws(UsageError) {
            let parser = ArgumentParser(specification.options + CommonOptions.everywhere)
            try parser.parse(words, into: &arguments)
            if arguments.has(CommonOptions.help) { return say(help(of: specification)) }
            try specification.operands.check(arguments.operands)
            command = try type.init(arguments, at: now)
            context = try makeContext(arguments)
        } catch {
            throw CommandFailure(.usage, "\(error.message). See issuectl \(specification.name) --help")
        }
        let code = try command.run(in: context)
        // Whatever the command was, a daemon is there now for what an earlier one could not send.
        if context.hasConnected.value { reporting.sendKept(arguments[CommonOptions.socket]) }
        return code
    }

    private func makeContext(_ arguments: ParsedArguments) throws(UsageError) -> CommandContext {
        guard !(arguments.has(CommonOptions.json) && arguments.has(CommonOptions.lines)) else {
            throw UsageError("--json and --ndjson exclude each other")
        }
        let choice = try arguments.choice(
            CommonOptions.color, among: ColorChoice.allCases.map(\.rawValue), ColorChoice.init(rawValue:))
        let connect = connect
        let hasConnected = CommandContext.Flag()
        let socket = arguments[CommonOptions.socket]
        return CommandContext(
            environment: environment, now: now, terminal: terminal,
            format: arguments.has(CommonOptions.json) ? .json : arguments.has(CommonOptions.lines) ? .lines : .human,
            painter: Painter(isColored: (choice ?? .auto).applies(to: terminal, environment)),
            input: input, output: output, files: files, reporting: reporting,
            connect: { () throws(CollectorConnectionError) in
                let link = try connect(socket)
                hasConnected.value = true
                return link
            }, hasConnected: hasConnected)
    }

    private func command(named name: String) throws(CommandFailure) -> any Command.Type {
        guard let command = Self.commands.first(where: { $0.specification.name == name }) else {
            let nearest = NearestName.suggestion(for: name, among: Self.commands.map { $0.specification.name })
            throw CommandFailure(.usage, "there is no command '\(name)'\(nearest). See issuectl --help")
        }
        return command
    }

    private var generalHelp: String {
        HelpText.text(of: Self.commands.map { $0.specification }, common: CommonOptions.leading)
    }

    private func help(of specification: CommandSpecification) -> String {
        HelpText.text(of: specification, common: CommonOptions.everywhere)
    }

    private func say(_ text: String) -> ExitCode {
        _ = output.write(Array(text.utf8))
        return .success
    }

    private func complain(_ message: String) {
        output.writeError(Array("issuectl: \(TerminalSanitizer.line(message))\n".utf8))
    }
}

extension IssueControl {
    /// Runs as the program, on the real terminal and the real socket, and ends the process.
    package static func runProcess(_ arguments: [String]) -> Never {
        // A reader who leaves early, as `head` does, shows as an error of write(2) and not as a death by signal:
        // `report` still has issues to send then.
        try? Signal.pipe.ignore()
        StandardStream.fillClosed()
        let output = StandardOutput()
        let terminal = StandardStream.output
        let control = IssueControl(
            environment: { Environment[$0] },
            now: Timestamp(milliseconds: WallClock.nowMilliseconds),
            terminal: TerminalInfo(isTerminal: terminal.isTerminal, columns: terminal.columns, rows: terminal.rows),
            input: StandardInput(), output: output,
            files: .process,
            reporting: .process(),
            connect: { (path) throws(CollectorConnectionError) in try IssueBrowser(socket: path).link() })
        let code = control.run(arguments)
        CurrentProcess.exit(code == .success && output.hasFailed ? ExitCode.refused.rawValue : code.rawValue)
    }
}

extension ReportSurroundings {
    /// How long what earlier runs have kept may hold up the end of this one.
    private static let sendingTime: Duration = .seconds(1)

    fileprivate static func process() -> ReportSurroundings {
        let folder = SpillFolder.usual(application: SpillFolder.commandName)
        let start = MonotonicClock.now
        return ReportSurroundings(
            now: { Timestamp(milliseconds: WallClock.nowMilliseconds) },
            elapsed: { start.duration(to: MonotonicClock.now) },
            sleep: { time in
                let nothing = Monitor(())
                _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
            },
            makeProducer: ProducerName.random, caller: CallerName.ofThisProcess(),
            keep: { call, producer, sequence in
                // A failure is reported at once, so no later run has to report it (`issues: 0`).
                guard let folder, folder.keep(call, of: producer, from: sequence, issues: 0) else { return nil }
                return folder.path
            },
            sendKept: { socket in
                guard let folder, !folder.isEmpty else { return }
                let deadline = MonotonicClock.now.advanced(by: sendingTime)
                SpillPickup(
                    folder: folder, sockets: socket.map { [$0] } ?? SocketPath.search(), trust: .socket(socket),
                    deadline: deadline, isStopped: { MonotonicClock.now >= deadline }, pause: { _ in false }
                ).run()
            })
    }
}

/// One of the commands of `issuectl`.
protocol Command: Sendable, SendableMetatype {
    /// What the parser and help need to know.
    static var specification: CommandSpecification { get }

    /// Reads the command line; times without a date count from `now`.
    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError)

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode
}

/// What a command works with: all that is neither its arguments nor its own decision.
struct CommandContext {
    var environment: (String) -> String?
    var now: Timestamp
    var terminal: TerminalInfo
    var format: OutputFormat
    var painter: Painter
    var input: any CommandInput
    var output: any CommandOutput
    var files: FileSaving
    var reporting: ReportSurroundings
    var connect: () throws(CollectorConnectionError) -> any BrowserLink
    /// Whether a daemon has answered.
    var hasConnected: Flag

    final class Flag {
        var value = false
    }

    /// The width that tables fit into, or nothing where they may be as wide as they like.
    var width: Int? { terminal.tableWidth(environment) }

    /// A connection to the daemon.
    ///
    /// - Parameter notFound: What is said where there is not what was asked for.
    func collector(notFound: String? = nil) throws(CommandFailure) -> Collector {
        do throws(CollectorConnectionError) {
            return Collector(link: try connect()) { failure in
                if case .refused(.notFound) = failure, let notFound { return CommandFailure(.refused, notFound) }
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

    /// Prints one JSON text on a line of its own.
    func print(json: [UInt8]) throws(CommandFailure) {
        try print(bytes: TerminalSafeJSON.escape(json) + [UInt8(ascii: "\n")])
    }

    private func print(bytes: [UInt8]) throws(CommandFailure) {
        guard output.write(bytes) else { throw .nobodyReads }
    }

    /// Asks a person on the terminal whether to go on.
    func confirm(_ question: String) throws(CommandFailure) -> Bool {
        try print(bytes: Array("\(TerminalSanitizer.line(question)) [y/N] ".utf8))
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), let more = input.read() { answer += more }
        let word = String(decoding: answer, as: UTF8.self).lowercased().prefix { $0 != "\n" && $0 != "\r" }
        return word == "y" || word == "yes"
    }

    /// Says on the terminal how far something is; the next such line takes the place of this one, an empty one ends it.
    func publishProgress(_ text: String) {
        guard terminal.isTerminal, format == .human else { return }
        output.writeError(Array("\r\u{1B}[K\(TerminalSanitizer.line(text))".utf8))
    }

    /// Says something on standard error, on one line.
    func warn(_ message: String) {
        output.writeError(Array("issuectl: \(TerminalSanitizer.line(message))\n".utf8))
    }
}

/// Why a command can't go on: one line for people, and the exit code for scripts.
package struct CommandFailure: Error, Equatable, Sendable {
    package var code: ExitCode
    /// What is wrong and what to do about it, without a full stop; nothing where nobody is to be told.
    package var message: String?

    package init(_ code: ExitCode, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// Whoever read our output has gone, as `head` does when it has seen enough: an end like any other.
    static let nobodyReads = CommandFailure(.success, nil)
}

extension CommandFailure {
    /// What a failed call means for people and scripts.
    init(_ failure: CollectorConnectionError) {
        switch failure {
        case .unreachable(let path, let reason):
            let hint = "is issued running? (systemctl status issued)"
            self.init(.unavailable, "no daemon answers at \(path) (\(reason)): \(hint)")
        case .untrusted(let path, let reason):
            let hint = "start issued, or if that user is to be trusted, name it in ISSUED_SOCKET_USER"
            self.init(.unavailable, "the socket \(path) is not trusted, \(reason): \(hint)")
        case .switchedOff:
            self.init(.unavailable, "ISSUED_SOCKET is empty, which switches issues off: unset it, or give --socket")
        case .unusablePath(let reason): self.init(.usage, "the socket's path can't be used: \(reason)")
        case .closed: self.init(.unavailable, "the daemon has closed the connection: see journalctl -u issued")
        case .timedOut: self.init(.tryAgain, "the daemon has not answered in time: try again")
        case .malformed(let reason):
            self.init(
                .refused, "the daemon's answer can't be read (\(reason)): are issuectl and issued of one version?")
        case .refused(let error): self.init(error)
        }
    }

    private init(_ error: CollectorError) {
        switch error {
        case .notFound(let id):
            let hint = "see issuectl list"
            self.init(.refused, "there is nothing with the id '\(id)' that you may see: \(hint)")
        case .denied, .permissionDenied:
            self.init(.refused, "only operators may do that: be root, or in a group named by Operators= in issued.conf")
        case .busy(let delay):
            let seconds = max(1, delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
            self.init(.tryAgain, "the daemon is busy: try again in \(RelativeTime.span(seconds: UInt64(seconds)))")
        case .noSpace:
            self.init(
                .tryAgain,
                "the daemon has not enough space left on its disk (KeepFree= is to stay free): make room, then try again"
            )
        case .tooLarge(let limit):
            self.init(.refused, "this is more than the daemon takes at once (the limit is \(limit)): send less")
        case .invalidFilter("bucket", let reason):
            self.init(.refused, "this time can't be counted in such buckets: \(reason)")
        case .invalidFilter(let field, let reason):
            self.init(.refused, "the daemon can't use the filter '\(field)': \(reason)")
        case .invalidRecord(let index, let field, let reason):
            let place = [index.map { "record \($0 + 1)" }, field].compactMap(\.self).joined(separator: ", ")
            self.init(.refused, "the daemon can't read \(place.isEmpty ? "what was reported" : place): \(reason)")
        case .methodNotImplemented, .methodNotFound, .interfaceNotFound:
            self.init(.refused, "this daemon does not offer that: is it older than issuectl? (issuectl status)")
        case .invalidParameter(let name):
            self.init(.refused, "the daemon can't use '\(name)': are issuectl and issued of one version?")
        case .expectedMore, .unknown: self.init(.refused, "the daemon refuses: \(error)")
        }
    }
}

extension CollectorConnectionError {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        switch self {
        case .unreachable, .untrusted, .closed, .timedOut, .refused(.busy), .refused(.noSpace): true
        case .switchedOff, .unusablePath, .refused, .malformed: false
        }
    }
}

/// The options that every command has.
enum CommonOptions {
    static let socket = OptionSpecification(
        "socket", value: "PATH", "Where the daemon listens, instead of looking in the usual places and in ISSUED_SOCKET"
    )
    static let json = OptionSpecification("json", "Print one JSON document")
    static let lines = OptionSpecification("ndjson", "Print one JSON object a line, as it comes")
    static let color = OptionSpecification("color", value: "WHEN", "Colour the output: auto, always or never")
    static let help = OptionSpecification("help", short: "h", "Show this help")
    /// Only before the command: behind `list` it asks for versions of applications.
    static let version = OptionSpecification("version", "Show the version")

    static let everywhere = [socket, json, lines, color, help]
    static let leading = everywhere + [version]
}

/// How a command ended, in the numbers of sysexits(3) that scripts know.
package enum ExitCode: Int32, Sendable {
    case success = 0
    /// What was asked for is not there, or was refused.
    case refused = 1
    /// The command line is wrong.
    case usage = 64
    /// No daemon answers.
    case unavailable = 69
    /// It may work later.
    case tryAgain = 75
}

/// In which form a command answers.
package enum OutputFormat: Sendable {
    /// Tables and pages for people.
    case human
    /// One JSON document.
    case json
    /// One JSON object a line, as it comes.
    case lines
}

/// The daemon's methods, as the commands call them: what goes wrong is said to a person.
typealias Collector = BrowserSession<CommandFailure>

typealias Answer = BrowserReply

/// What is known of the terminal that people look at.
package struct TerminalInfo: Equatable, Sendable {
    /// Whether standard output goes to a person rather than into a file or a pipe.
    package var isTerminal: Bool
    package var columns: Int?
    package var rows: Int?

    package init(isTerminal: Bool, columns: Int? = nil, rows: Int? = nil) {
        self.isTerminal = isTerminal
        self.columns = columns
        self.rows = rows
    }

    /// The width that tables are cut to, or nothing where cutting would lose what a pipe is meant to carry.
    func tableWidth(_ environment: (String) -> String?) -> Int? {
        if let width = environment("COLUMNS").flatMap({ Int($0) }), width > 0 { return width }
        guard isTerminal else { return nil }
        return columns ?? 80
    }

    /// How many rows of a table fit onto one screen, with room for its head and the prompt.
    func tableRows(_ environment: (String) -> String?) -> Int {
        let variable = environment("LINES").flatMap { Int($0) }
        guard isTerminal, let rows = variable ?? rows, rows > 0 else { return 50 }
        return max(5, rows - 3)
    }
}

/// When to colour what people read.
package enum ColorChoice: String, CaseIterable, Sendable {
    case auto
    case always
    case never

    /// Whether to colour, as `NO_COLOR` (no-color.org) and `TERM=dumb` wish where nobody has said it outright.
    func applies(to terminal: TerminalInfo, _ environment: (String) -> String?) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let isUnwanted = environment("NO_COLOR").map { !$0.isEmpty } ?? false
            return terminal.isTerminal && !isUnwanted && environment("TERM") != "dumb"
        }
    }
}

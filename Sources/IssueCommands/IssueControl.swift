package import IssueBrowsing
import IssueProtocol
internal import Issues
package import UnixIO

/// The program `issuectl`, independent of the process it runs in.
///
/// Its dependencies are passed in, so that tests see exactly what a user would see.
package struct IssueControl {
    private static let commands: [any Command.Type] = [
        ReportCommand.self, ListCommand.self, RecordsCommand.self, ShowCommand.self, FollowCommand.self,
        HistogramCommand.self,
        ResolveCommand.self, MuteCommand.self, ReopenCommand.self, GroupCommand.self, ExplainCommand.self,
        DeployCommand.self, DeploysCommand.self, StatusCommand.self, LimitsCommand.self,
        RetentionCommand.self,
        HealthCommand.self, MetricsCommand.self,
        DoctorCommand.self, BundleCommand.self, FlushCommand.self,
        NotifyCommand.self, SilenceCommand.self,
        DeadLettersCommand.self, SQLCommand.self, BackupCommand.self, RepairCommand.self,
        PurgeCommand.self,
    ]

    /// The commands for other names that users may try. The most similar name would be the wrong suggestion, such as
    /// `mute` for `unmute`.
    private static let otherNames = [
        "unmute": "reopen", "unresolve": "reopen", "export": "dead-letters export", "check": "doctor",
        "monitor": "health", "prometheus": "metrics", "tail": "follow", "search": "records", "delete": "purge",
        "bugreport": "bundle", "support": "bundle", "unmerge": "group undo", "unsplit": "group undo",
    ]

    // Without the common options, which `run` adds.
    private let context: CommandContext

    /// Creates the program. `connect` takes the path of a socket; nil for the standard ones.
    package init(
        environment: @escaping (String) -> String?, now: IssueTimestamp, terminal: TerminalInfo,
        input: any CommandInput, output: any CommandOutput,
        files: FileSaving, reporting: ReportSurroundings, sql: SQLAccess, tools: HostTools = .process,
        connect: @escaping LinkFactory
    ) {
        context = CommandContext(
            environment: environment, now: now, terminal: terminal, input: input, output: output, files: files,
            reporting: reporting, sql: sql, tools: tools, makeLink: connect)
    }

    /// Runs the command that the arguments name. The program's name is not among the arguments.
    package func run(_ arguments: [String]) -> ExitCode {
        do throws(CommandFailure) {
            return try dispatch(arguments)
        } catch {
            if let message = error.message { context.warn(message) }
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
        if common.has(CommonOptions.version) { return printText("issuectl \(ProductVersion.text)\n") }
        guard let name = rest.first else {
            guard common.has(CommonOptions.help) else {
                throw CommandFailure(.usage, "missing command. See issuectl --help")
            }
            return printText(generalHelp)
        }
        if name == Completion.command { return complete(rest.dropFirst()) }
        if name == ManualPage.command { return try printManual(rest.dropFirst()) }
        if name == "help" {
            guard let topic = rest.dropFirst().first else { return printText(generalHelp) }
            return printText(help(of: try command(named: topic).specification))
        }
        return try run(try command(named: name), Array(rest.dropFirst()), common)
    }

    /// Prints what can follow on an unfinished command line. A failure prints nothing, since a shell waits for this.
    private func complete(_ words: ArraySlice<String>) -> ExitCode {
        let completion = Completion(words, commands: Self.commands.map { $0.specification })
        let candidates = completion.candidates { () throws(CollectorConnectionError) in
            try context.makeLink(completion.socket)
        }
        return printText(candidates.map(\.line).joined())
    }

    /// Prints the names of the commands, or the manual page of a command for a date.
    private func printManual(_ words: ArraySlice<String>) throws(CommandFailure) -> ExitCode {
        guard let name = words.first, let date = words.dropFirst().first else {
            return printText(Self.commands.map { "\($0.specification.name)\n" }.joined())
        }
        let specification = try command(named: name).specification
        return printText(ManualPage.text(of: specification, common: CommonOptions.added(to: specification), date: date))
    }

    private func run(
        _ type: any Command.Type, _ words: [String], _ common: ParsedArguments
    ) throws(CommandFailure) -> ExitCode {
        let specification = type.specification
        let command: any Command
        let context: CommandContext
        var arguments = common
        do throws(UsageError) {
            let parser = ArgumentParser(CommonOptions.all(of: specification))
            try parser.parse(words, into: &arguments)
            if arguments.has(CommonOptions.help) { return printText(help(of: specification)) }
            try specification.operands.check(arguments.operands)
            command = try type.init(arguments, at: self.context.now)
            context = try makeContext(arguments)
        } catch {
            throw CommandFailure(.usage, "\(error.message). See issuectl \(specification.name) --help")
        }
        // If a daemon is reachable, reports that earlier runs could not send are sent now, even if the command fails.
        defer { if context.hasConnected.value { context.reporting.sendSpooled(context.socket) } }
        return try command.run(in: context)
    }

    private func makeContext(_ arguments: ParsedArguments) throws(UsageError) -> CommandContext {
        guard !(arguments.has(CommonOptions.json) && arguments.has(CommonOptions.lines)) else {
            throw UsageError("--json and --ndjson cannot be used together")
        }
        let choice = try arguments.choice(
            CommonOptions.color, among: ColorChoice.allCases.map(\.rawValue), ColorChoice.init(rawValue:))
        var context = context
        context.format =
            arguments.has(CommonOptions.json) ? .json : arguments.has(CommonOptions.lines) ? .lines : .human
        context.painter.isColored = (choice ?? .auto).applies(to: context.terminal, context.environment)
        context.socket = arguments[CommonOptions.socket]
        // Options of commands with the same name have the same form.
        let timeout = try arguments.duration(CommonOptions.timeout)
        if timeout == .zero, let text = arguments[CommonOptions.timeout] {
            throw UsageError(text, of: CommonOptions.timeout, expected: "\(DurationExpression.forms), above 0")
        }
        if let timeout { context.timeout = timeout }
        return context
    }

    private func command(named name: String) throws(CommandFailure) -> any Command.Type {
        guard let command = Self.commands.first(where: { $0.specification.name == name }) else {
            let meant = Self.otherNames[name] ?? GroupCommand.Action(rawValue: name).map { "group \($0.rawValue)" }
            let hint =
                meant.map { " (did you mean \($0)?)" }
                ?? NearestName.suggestion(for: name, among: Self.commands.map { $0.specification.name })
            throw CommandFailure(.usage, "unknown command '\(name)'\(hint). See issuectl --help")
        }
        return command
    }

    private var generalHelp: String {
        HelpText.text(of: Self.commands.map { $0.specification }, common: CommonOptions.leading)
    }

    private func help(of specification: CommandSpecification) -> String {
        HelpText.text(of: specification, common: CommonOptions.added(to: specification))
    }

    private func printText(_ text: String) -> ExitCode {
        _ = context.output.write(Array(text.utf8))
        return .success
    }
}

extension IssueControl {
    /// Runs the program with the real terminal and socket, and ends the process.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, without the program's own name.
    ///   - sql: Opens a database; nil in a program without SQLite, which runs another program for this.
    package static func runProcess(
        _ arguments: [String], sql: ((_ path: String?) throws(CommandFailure) -> any SQLDatabase)? = nil
    ) -> Never {
        // If the reader of the output leaves early, as `head` does, write(2) fails instead of a signal ending the
        // process: `report` still has to send its issues.
        try? Signal.pipe.ignore()
        StandardStream.fillClosed()
        let output = StandardOutput()
        let terminal = StandardStream.output
        let control = IssueControl(
            environment: { ProcessEnvironment[$0] },
            now: IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds),
            terminal: TerminalInfo(
                isTerminal: terminal.isTerminal, columns: terminal.columns, rows: terminal.rows,
                isInputTerminal: StandardStream.input.isTerminal),
            input: StandardInput(), output: output,
            files: .process,
            reporting: .process(),
            sql: sql.map { .library($0) }
                ?? .program { (name) throws(CommandFailure) in try ExtraProgram.replaceProcess(name, arguments) },
            connect: { (path) throws(CollectorConnectionError) in try IssueBrowser(socket: path).link() })
        let code = control.run(arguments)
        CurrentProcess.exit(code == .success && output.hasFailed ? ExitCode.refused.rawValue : code.rawValue)
    }
}

/// A program that implements a command of `issuectl` and is installed with it.
package enum ExtraProgram {
    /// Runs the program in this process. Returns only by throwing.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - arguments: Its arguments.
    /// - Throws: `CommandFailure` if it is not installed or cannot be run.
    static func replaceProcess(_ name: String, _ arguments: [String]) throws(CommandFailure) -> Never {
        let own = CurrentProcess.executable.map { FileSystem.parentFolder(of: $0) }
        for folder in folders(of: own) {
            do throws(Errno) {
                try CurrentProcess.replace(by: "\(folder)/\(name)", arguments)
            } catch .noSuchFile {
                continue
            } catch {
                throw CommandFailure(.unavailable, "cannot run \(folder)/\(name) (\(error)): install issued again")
            }
        }
        let places = folders(of: own).joined(separator: ", ")
        throw CommandFailure(
            .unavailable, "the program \(name) is missing (searched in \(places)): install issued again")
    }

    /// The folders to search, in order: that of `issuectl`, as in a build, and those of an installation.
    ///
    /// - Parameter own: The folder of `issuectl`; nil if it is unknown.
    package static func folders(of own: String?) -> [String] {
        let standard = "/usr/libexec/issued"
        guard let own else { return [standard] }
        let sibling = own.hasSuffix("/bin") ? ["\(own.dropLast(4))/libexec/issued"] : []
        return [own] + sibling.filter { $0 != standard } + [standard]
    }
}

extension ReportSurroundings {
    /// The maximum time for sending kept reports at the end of a run.
    private static let sendingTime: Duration = .seconds(1)

    fileprivate static func process() -> ReportSurroundings {
        let folder = SpillFolder.standard(application: SpillFolder.commandName)
        let start = MonotonicClock.now
        return ReportSurroundings(
            now: { IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds) },
            elapsed: { start.duration(to: MonotonicClock.now) },
            sleep: { time in
                let nothing = Monitor(())
                _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
            },
            makeProducer: ProducerName.random, caller: CallerName.ofThisProcess(),
            keep: { call, producer, sequence in
                // `issues: 0`: the failure is reported immediately, so no later run has to report it.
                guard let folder, folder.keep(call, of: producer, from: sequence, issues: 0) else { return nil }
                return folder.path
            },
            sendSpooled: { socket in
                guard let folder, !folder.isEmpty else { return }
                let deadline = MonotonicClock.now.advanced(by: sendingTime)
                SpillSender(
                    folder: folder, sockets: SocketPath.candidates(socket), trust: .socket(socket),
                    deadline: deadline, isStopped: { MonotonicClock.now >= deadline }, pause: { _ in false }
                ).run()
            })
    }
}

/// A command of `issuectl`.
protocol Command: Sendable, SendableMetatype {
    /// The description for the parser and the help.
    static var specification: CommandSpecification { get }

    /// Creates the command from its arguments. Relative times refer to `now`.
    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError)

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode
}

/// The environment of a command: everything except its arguments.
struct CommandContext {
    var environment: (String) -> String?
    var now: IssueTimestamp
    var terminal: TerminalInfo
    var input: any CommandInput
    var output: any CommandOutput
    var files: FileSaving
    var reporting: ReportSurroundings
    var sql: SQLAccess
    var tools: HostTools
    fileprivate var makeLink: LinkFactory

    // The common options.
    var format = OutputFormat.human
    var painter = Painter(isColored: false)
    fileprivate(set) var socket: String?
    /// The maximum time to wait for the reply to a query.
    fileprivate(set) var timeout: Duration = .seconds(30)

    /// The time after which a user should know that the command waits.
    private static let noticeableDelay: Duration = .seconds(2)

    /// Set once a connection to the daemon was established.
    fileprivate let hasConnected = Flag()

    fileprivate final class Flag {
        var value = false
    }

    private let userNames = UserNames()

    /// The names of users, each of which is looked up once.
    private final class UserNames {
        private var known: [UInt32: String?] = [:]

        func name(of userID: UInt32, _ lookUp: (UInt32) -> String?) -> String? {
            if let name = known[userID] { return name }
            let name = lookUp(userID)
            known.updateValue(name, forKey: userID)
            return name
        }
    }

    /// Returns a user's id, followed by the user's name if there is one, such as `1000 (anna)`.
    func user(_ id: Int64) -> String {
        let name = UInt32(exactly: id).flatMap { userNames.name(of: $0, tools.userName) }
        return name.map { "\(id) (\($0))" } ?? "\(id)"
    }

    /// The width of tables; nil if it is unlimited.
    var width: Int? { terminal.tableWidth(environment) }

    /// Connects to the daemon.
    ///
    /// - Parameter noticesDelay: `true` to tell the user if the first reply takes long.
    func connect(noticesDelay: Bool = true) throws(CollectorConnectionError) -> any BrowserLink {
        let link = try makeLink(socket)
        hasConnected.value = true
        if noticesDelay { link.onDelay(of: Self.noticeableDelay) { warn("waiting for the reply of the daemon") } }
        return link
    }

    /// Connects to the daemon for queries.
    ///
    /// - Parameters:
    ///   - notFound: Returns the error message if the daemon does not find what has this id; nil for the default.
    ///   - denied: The error message if the user may not do this; nil for the default.
    func collector(
        notFound: ((_ id: String) -> String)? = nil, denied: String? = nil
    ) throws(CommandFailure) -> Collector {
        do throws(CollectorConnectionError) {
            return Collector(link: try connect(), timeout: timeout) { failure in
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

    /// Prints a line for users, unless the output is JSON.
    func printNote(_ line: String) throws(CommandFailure) {
        if format == .human { try print(line) }
    }

    /// Prints a text that consists of whole lines.
    func print(text: String) throws(CommandFailure) {
        try print(bytes: Array(text.utf8))
    }

    /// Prints a JSON text on a line of its own.
    func print(json: [UInt8]) throws(CommandFailure) {
        try print(bytes: TerminalSafeJSON.escape(json) + [UInt8(ascii: "\n")])
    }

    /// Prints a reply.
    ///
    /// - Parameters:
    ///   - answer: The reply.
    ///   - member: The member of the reply whose elements `--ndjson` prints; nil to print the whole reply.
    ///   - text: Returns the lines for users.
    func print<Reply>(
        _ answer: BrowserReply<Reply>, elements member: String? = nil, text: (Reply) -> [String]
    ) throws(CommandFailure) {
        switch (format, member) {
        case (.human, _): try print(text(answer.value))
        case (.lines, let member?): for element in answer.elements(of: member) { try print(json: element) }
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
        guard output.write(bytes) else { throw .nobodyReads }
    }

    /// Asks the user for confirmation. Returns `false` unless the answer is yes.
    func confirm(_ question: String) throws(CommandFailure) -> Bool {
        try print(bytes: Array("\(TerminalSanitizer.line(question)) [y/N] ".utf8))
        var answer: [UInt8] = []
        while !answer.contains(UInt8(ascii: "\n")), let more = input.read() { answer += more }
        let word = String(decoding: answer, as: UTF8.self).lowercased().prefix { $0 != "\n" && $0 != "\r" }
        return word == "y" || word == "yes"
    }

    /// Shows the progress of a job on a terminal. Each text replaces the previous one; an empty text removes it.
    func publishProgress(_ text: String) {
        guard terminal.isTerminal, format == .human else { return }
        output.writeError(Array("\r\u{1B}[K\(TerminalSanitizer.line(text))".utf8))
    }

    /// Runs a long operation, and shows its progress.
    func order<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, on collector: Collector,
        progress: (Reply) -> String
    ) throws(CommandFailure) -> BrowserReply<Reply> {
        let answer = try collector.order(call, parameters) { publishProgress(progress($0)) }
        publishProgress("")
        return answer
    }

    /// Prints a message to standard error, on one line.
    func warn(_ message: String) {
        output.writeError(Array("issuectl: \(TerminalSanitizer.line(message))\n".utf8))
    }
}

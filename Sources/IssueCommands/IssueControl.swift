import IssueBrowsing
import IssueProtocol
internal import Issues
package import UnixIO

/// The program `issuectl`. Its dependencies on the process are parameters, so that tests can replace them.
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

    /// The commands to suggest for other names that users may try. The command with the most similar name would often
    /// be wrong: for `unmute`, it is `mute`.
    private static let otherNames = [
        "unmute": "reopen", "unresolve": "reopen", "export": "dead-letters export", "check": "doctor",
        "monitor": "health", "prometheus": "metrics", "tail": "follow", "search": "records", "delete": "purge",
        "bugreport": "bundle", "support": "bundle", "unmerge": "group undo", "unsplit": "group undo",
    ]

    /// The context without the values of the common options. `makeContext` adds them.
    private let context: CommandContext

    init(_ context: CommandContext) {
        self.context = context
    }

    /// Runs the command that the arguments name and returns the exit code. Prints the error message if it fails. The
    /// arguments do not include the name of the program.
    package func run(_ arguments: [String]) -> ExitCode {
        do throws(CommandFailure) {
            try dispatch(arguments)
            return .success
        } catch {
            if let message = error.message { context.warn(message) }
            return error.code
        }
    }

    private func dispatch(_ words: [String]) throws(CommandFailure) {
        let common: ParsedArguments
        let leading: ArraySlice<String>
        do throws(UsageError) {
            let (arguments, count) = try ArgumentParser(CommonOptions.leading).parseLeading(words)
            common = arguments
            leading = words[..<count]
        } catch {
            throw CommandFailure(.usage, "\(error.message). See \(program) --help")
        }
        let rest = words[leading.endIndex...].drop { $0 == "--" }
        if common.has(CommonOptions.version) { return printText("\(program) \(ProductVersion.text)\n") }
        guard let name = rest.first else {
            guard common.has(CommonOptions.help) else {
                throw CommandFailure(.usage, "missing command. See \(program) --help")
            }
            return printText(generalHelp)
        }
        if name == Completion.command { return complete(rest.dropFirst()) }
        if name == ManualPage.command { return try printManual(rest.dropFirst()) }
        if name == "help" {
            guard let topic = rest.dropFirst().first, !["help", "--help", "-h"].contains(topic) else {
                return printText(generalHelp)
            }
            return printText(help(of: try command(named: topic).specification))
        }
        // The leading options are parsed again, because the command may not accept them.
        try run(try command(named: name), leading + rest.dropFirst())
    }

    /// Prints the candidates for the last word of an unfinished command line. Prints no errors, because a shell reads
    /// the output.
    private func complete(_ words: ArraySlice<String>) {
        let completion = Completion(words, commands: Self.commands.map { $0.specification })
        let candidates = completion.candidates { () throws(CollectorConnectionError) in
            try context.makeLink(completion.socket)
        }
        printText(candidates.map(\.line).joined())
    }

    /// Prints the manual page of a command, or the names of all commands. The words are the name of the command and the
    /// date of the page; if either is missing, the names are printed.
    private func printManual(_ words: ArraySlice<String>) throws(CommandFailure) {
        guard let name = words.first, let date = words.dropFirst().first else {
            return printText(Self.commands.map { "\($0.specification.name)\n" }.joined())
        }
        let specification = try command(named: name).specification
        printText(ManualPage.text(of: specification, common: CommonOptions.added(to: specification), date: date))
    }

    private func run(_ type: any Command.Type, _ words: ArraySlice<String>) throws(CommandFailure) {
        let specification = type.specification
        let command: any Command
        let context: CommandContext
        do throws(UsageError) {
            let arguments = try ArgumentParser(CommonOptions.all(of: specification)).parse(words)
            if arguments.has(CommonOptions.help) { return printText(help(of: specification)) }
            try specification.operands.check(
                arguments.operands, acceptsEmpty: specification.acceptsEmptyOperands)
            command = try type.init(arguments, at: self.context.now)
            context = try makeContext(arguments)
        } catch {
            throw CommandFailure(.usage, "\(error.message). See \(program) \(specification.name) --help")
        }
        // If the command has connected to the daemon, sends the reports that earlier runs have saved, even if the
        // command fails.
        defer { if context.hasConnected.value { context.reporting.sendSpooled(context.socket) } }
        try command.run(in: context)
    }

    private func makeContext(_ arguments: ParsedArguments) throws(UsageError) -> CommandContext {
        guard !(arguments.has(CommonOptions.json) && arguments.has(CommonOptions.lines)) else {
            throw UsageError("--json and --ndjson cannot be used together")
        }
        let choice: ColorChoice? = try arguments.choice(CommonOptions.color)
        var context = context
        context.format =
            arguments.has(CommonOptions.json) ? .json : arguments.has(CommonOptions.lines) ? .lines : .human
        context.painter.isColored = (choice ?? .auto).applies(to: context.terminal, context.environment)
        context.socket = arguments[CommonOptions.socket]
        // This also checks a `--timeout` that the command defines itself, because its values have the same form.
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
            throw CommandFailure(.usage, "unknown command '\(name)'\(hint). See \(program) --help")
        }
        return command
    }

    /// The name of the program that the user ran. `issuectl` prints help and usage errors itself, before it runs
    /// `issued-sql`.
    private var program: String {
        switch context.sql {
        case .library: "issued-sql"
        case .program: "issuectl"
        }
    }

    private var generalHelp: String {
        HelpText.text(of: Self.commands.map { $0.specification }, common: CommonOptions.leading, program: program)
    }

    private func help(of specification: CommandSpecification) -> String {
        HelpText.text(of: specification, common: CommonOptions.added(to: specification), program: program)
    }

    private func printText(_ text: String) {
        _ = context.output.write(Array(text.utf8))
    }
}

extension IssueControl {
    /// Runs the program with the standard streams, environment and files of this process, then exits.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, without the name of the program.
    ///   - sql: Opens a database; nil in a program without SQLite, which runs `issued-sql` instead.
    package static func runProcess(
        _ arguments: [String], sql: ((_ path: String?) throws(CommandFailure) -> any SQLDatabase)? = nil
    ) -> Never {
        // If the reader of the output exits early, as `head` does, write(2) fails instead of raising SIGPIPE: `report`
        // still has to send its issues.
        try? Signal.pipe.ignore()
        StandardStream.fillClosed()
        let output = StandardOutput()
        let terminal = StandardStream.output
        let context = CommandContext(
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
            tools: .process,
            makeLink: { (path) throws(CollectorConnectionError) in try SocketLink(path) })
        let code = IssueControl(context).run(arguments)
        CurrentProcess.exit(code == .success && output.hasFailed ? ExitCode.refused.rawValue : code.rawValue)
    }
}

/// Runs a program that implements a command of `issuectl` and is installed with it.
package enum ExtraProgram {
    /// Replaces this process with the program, or throws if that fails.
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

    /// Returns the folders to search, in order: first the folder of `issuectl`, which is where a build puts the
    /// program, then the folders of an installation.
    ///
    /// - Parameter own: The folder of `issuectl`; nil if it is unknown.
    package static func folders(of own: String?) -> [String] {
        let standard = "/usr/libexec/issued"
        guard let own else { return [standard] }
        let sibling = own.hasSuffix("/bin") ? ["\(own.dropLast(4))/libexec/issued"] : []
        return [own] + sibling.filter { $0 != standard } + [standard]
    }
}

package import IssueBrowsing
package import IssueProtocol
internal import Issues

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
    private let terminal: TerminalFacts
    private let input: any CommandInput
    private let output: any CommandOutput
    private let connect: BrowserLinking
    private let files: FileSaving
    private let reporting: ReportSurroundings

    package init(
        environment: @escaping (String) -> String?, now: Timestamp, terminal: TerminalFacts,
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
        output.writeError(Array("issuectl: \(HarmlessText.line(message))\n".utf8))
    }
}

import IssueProtocol
import IssueStore
package import UnixIO

/// The parsed command line of `issued`.
package struct DaemonOptions: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case run, check, printConfiguration, listMessages, listCatalog, printVersion, printHelp
    }

    package var action = Action.run
    package var source = ConfigurationSource.default
    /// The value of `--user`, which selects the user whose rights `--check` uses; nil without that option.
    package var user: String?
    /// Whether `--check` also tests the destinations and notifiers.
    package var isOnline = false

    /// The options without a value that select an action.
    private static let plainActions: [String: Action] = [
        "--print-config": .printConfiguration, "--list-messages": .listMessages,
        "--list-catalog": .listCatalog, "--version": .printVersion,
        "--help": .printHelp,
    ]
    private static let names = ["--config", "--check", "--user", "--online"] + plainActions.keys.sorted()

    /// Parses the command line.
    ///
    /// - Parameter arguments: The arguments without the name of the program.
    /// - Throws: `UsageError` if an argument is not expected, a value is missing, or options can't be combined.
    package init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        var actions: [(action: Action, name: String)] = []
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            let value = parts.count == 2 ? String(parts[1]) : nil
            switch name {
            case "--config":
                guard let file = value ?? rest.popFirst(), !file.isEmpty else {
                    throw UsageError("--config needs a file.")
                }
                try setSource(file)
            case "--check":
                actions.append((.check, name))
                if let value {
                    guard !value.isEmpty else { throw UsageError("--check= needs a file.") }
                    try setSource(value)
                } else if let next = rest.first, !next.hasPrefix("-") {
                    rest.removeFirst()
                    try setSource(next)
                }
            case "--user":
                guard let name = value ?? rest.popFirst(), !name.isEmpty, user == nil else {
                    throw UsageError("--user needs a user, and can be given only once.")
                }
                user = name
            case "--online" where value == nil: isOnline = true
            case "-h" where value == nil: actions.append((.printHelp, name))
            case _ where Self.plainActions[name] != nil:
                guard value == nil, let action = Self.plainActions[name] else {
                    throw UsageError("\(name) takes no value.")
                }
                actions.append((action, name))
            case _ where name.hasPrefix("-"):
                let nearest = NearestName.find(name, among: Self.names).map { " Did you mean \($0)?" } ?? ""
                throw UsageError("unknown option \(name.truncatedForLog).\(nearest)")
            case _:
                throw UsageError(
                    "unexpected argument \(argument.truncatedForLog); name a file with --config.")
            }
        }
        // A request for help takes precedence over other actions.
        let wantsHelp = actions.contains { $0.action == .printHelp }
        guard wantsHelp || actions.count <= 1 else {
            throw UsageError("\(actions[0].name) and \(actions[1].name) can't be combined.")
        }
        action = wantsHelp ? .printHelp : actions.first?.action ?? .run
        guard user == nil || action == .check || action == .printHelp else {
            throw UsageError("--user can only be used with --check.")
        }
        guard !isOnline || action == .check || action == .printHelp else {
            throw UsageError("--online can only be used with --check.")
        }
    }

    private mutating func setSource(_ file: String) throws(UsageError) {
        guard source == .default else { throw UsageError("only one configuration file can be named.") }
        source = .file(file)
    }

    package static let help = """
        issued [--config FILE] [--check [FILE] [--user USER] [--online]]
               [--print-config] [--list-messages] [--list-catalog] [--version] [--help]

        Collects, groups and forwards the issues that applications report.

          --config FILE    read FILE and FILE.d/*.conf instead of the files in /etc/issued
          --check [FILE]   list errors in the configuration, and name the user whose rights the check used
          --user USER      check with the rights of USER instead of the unit's user (only for root)
          --online         also test each destination and notifier, without sending records or messages
          --print-config   print the effective configuration, and where each value comes from
          --list-messages  print all messages of the log with their meaning, as Markdown
          --list-catalog   print the same messages as a message catalog for the journal
          --version        print the version
          --help           print this help

        Exit codes: 0 success, 1 a destination or notifier failed the test, 64 usage error, 69 no socket,
        73 unusable state directory, 78 configuration errors.
        More: man issued, man issued.conf.

        """
}

/// What the program does after it has handled its command line: run the daemon, or exit.
package enum DaemonStart: Sendable {
    /// Run with this configuration, even if the files have errors. A reload reads the source again.
    case run(EffectiveConfiguration, ConfigurationSource)
    /// Exit with this code; everything has been printed.
    case exit(ExitCode)

    /// Parses the command line, and performs any action other than running.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the name of the program.
    ///   - output: Writes to standard output.
    ///   - errorOutput: Writes to standard error.
    package static func decide(
        arguments: [String], environment: HostEnvironment, output: (String) -> Void, errorOutput: (String) -> Void
    ) -> DaemonStart {
        do {
            var options = try DaemonOptions(arguments)
            options.source = options.source.absolute(in: try? FileSystem.readLink("/proc/self/cwd"))
            switch options.action {
            case .printHelp:
                output(DaemonOptions.help)
            case .printVersion:
                output("issued \(ProductVersion.text)\n")
            case .listMessages:
                output(MessagePage.text)
            case .listCatalog:
                output(MessageCatalog.text)
            case .check:
                let unit = environment.unit
                let subject = try CheckSubject(option: options.user, callerID: environment.userID, unit: unit)
                errorOutput("Files checked as \(subject.explanation).\n")
                let view = try subject.assume(in: environment)
                var reader = ConfigurationReader(environment: view, purpose: .inspecting)
                let reading = reader.read(options.source)
                guard reading.problems.isEmpty else { throw InvalidConfiguration(problems: reading.problems) }
                let configuration = reading.configuration
                let warnings =
                    configuration.warnings(at: reading.origins.location)
                    + subject.warnings(on: configuration.store.path, unit: unit)
                for warning in warnings { errorOutput("Warning: \(warning)\n") }
                if subject.isDaemonUser {
                    try StoreLocation(configuration.store.path, userID: view.userID).check()
                }
                if options.isOnline {
                    let check = OnlineCheck(configuration.destinations, configuration.notifiers)
                    output(check.text)
                    return .exit(check.isPassed ? .success : .refused)
                }
                let files = reading.origins.phrase(mainFile: options.source.path(in: environment))
                output((["\(files): no errors"] + configuration.uncheckedCredentials).map { "\($0)\n" }.joined())
            case .printConfiguration:
                var reader = ConfigurationReader(environment: environment, purpose: .inspecting)
                let reading = reader.read(options.source)
                let isValid = reading.problems.isEmpty
                if !isValid {
                    output("# The configuration has errors. These are the values of the lines without errors:\n")
                    for problem in reading.problems { output("# \(problem)\n") }
                }
                output(reading.configuration.text(origins: reading.origins))
                if !isValid { throw InvalidConfiguration(problems: reading.problems) }
            case .run:
                return .run(EffectiveConfiguration(options.source, in: environment), options.source)
            }
            return .exit(.success)
        } catch let error as InvalidConfiguration {
            errorOutput("\(error)\n")
            return .exit(.configuration)
        } catch let error as StoreFailure {
            errorOutput("\(error)\n")
            return .exit(.cannotCreate)
        } catch let error as UsageError {
            errorOutput("issued: \(error.message) See “issued --help”.\n")
            return .exit(.usage)
        } catch {
            preconditionFailure("An error without an exit code: \(error)")
        }
    }
}

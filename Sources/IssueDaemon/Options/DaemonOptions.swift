/// What the command line of `issued` asks for.
package struct DaemonOptions: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case run, check, printConfiguration, printVersion, printHelp
    }

    package var action = Action.run
    package var source = ConfigurationSource.usual
    /// The user as which `--check` checks the configuration.
    package var user: String?

    private static let names = ["--config", "--check", "--user", "--print-config", "--version", "--help"]

    /// - Parameter arguments: Without the name of the program.
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
                    throw UsageError(sentence: "--config needs a file.")
                }
                try setSource(file)
            case "--check":
                actions.append((.check, name))
                if let value {
                    guard !value.isEmpty else { throw UsageError(sentence: "--check= needs a file.") }
                    try setSource(value)
                } else if let next = rest.first, !next.hasPrefix("-") {
                    rest.removeFirst()
                    try setSource(next)
                }
            case "--user":
                guard let name = value ?? rest.popFirst(), !name.isEmpty, user == nil else {
                    throw UsageError(sentence: "--user needs one user.")
                }
                user = name
            case "--print-config" where value == nil: actions.append((.printConfiguration, name))
            case "--version" where value == nil: actions.append((.printVersion, name))
            case "--help" where value == nil, "-h" where value == nil: actions.append((.printHelp, name))
            case "--print-config", "--version", "--help":
                throw UsageError(sentence: "\(name) takes no value.")
            case _ where name.hasPrefix("-"):
                let nearest = NearestName.to(name, among: Self.names).map { " Did you mean \($0)?" } ?? ""
                throw UsageError(sentence: "There is no option \(name.shownInComplaint).\(nearest)")
            case _:
                throw UsageError(
                    sentence: "There is nothing to do with \(argument.shownInComplaint); a file follows --config.")
            }
        }
        // Who asks for help wants it, whatever else there is.
        let wantsHelp = actions.contains { $0.action == .printHelp }
        guard wantsHelp || actions.count <= 1 else {
            throw UsageError(sentence: "\(actions[0].name) and \(actions[1].name) cannot be together.")
        }
        action = wantsHelp ? .printHelp : actions.first?.action ?? .run
        guard user == nil || action == .check || action == .printHelp else {
            throw UsageError(sentence: "--user can only be used with --check.")
        }
    }

    private mutating func setSource(_ file: String) throws(UsageError) {
        guard source == .usual else { throw UsageError(sentence: "Only one configuration file can be named.") }
        source = .file(file)
    }

    package static let help = """
        issued [--config FILE] [--check [FILE] [--user USER]] [--print-config] [--version] [--help]

        Collects, groups and forwards the issues that applications report.

          --config FILE    read that file and FILE.d/*.conf, instead of those in /etc/issued
          --check [FILE]   list the errors in the configuration, and say for which user files were checked
          --user USER      check files as this user, instead of as the user of the unit (only for root)
          --print-config   print what the daemon goes by, all files read
          --version        print the version
          --help           print this

        Exit codes: 0; 64 command line; 69 no socket; 73 state directory; 78 --check found errors.
        More: man issued, man issued.conf.

        """
}

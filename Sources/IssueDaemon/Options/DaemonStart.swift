import IssueProtocol

/// What comes before the daemon runs: the command line, the configuration, and the answers that need no daemon.
package enum DaemonStart: Sendable {
    /// Go by this; the source is read again when a reload is asked for.
    case run(Configuration, ConfigurationSource)
    /// All is said.
    case exit(ExitCode)

    /// - Parameters:
    ///   - arguments: Without the name of the program.
    ///   - output: Takes what was asked for.
    ///   - complain: Takes what is wrong; standard error.
    package static func decide(
        arguments: [String], surroundings: Surroundings, output: (String) -> Void, complain: (String) -> Void
    ) -> DaemonStart {
        do {
            let options = try DaemonOptions(arguments)
            switch options.action {
            case .printHelp:
                output(DaemonOptions.help)
            case .printVersion:
                output("issued \(ProductVersion.text)\n")
            case .check:
                let configuration = try Configuration.load(options.source, in: surroundings, for: .looking)
                for warning in configuration.warnings { complain("Warning: \(warning)\n") }
            case .printConfiguration:
                output(try Configuration.load(options.source, in: surroundings, for: .looking).text)
            case .run:
                return .run(try Configuration.load(options.source, in: surroundings, for: .running), options.source)
            }
            return .exit(.ok)
        } catch let error as InvalidConfiguration {
            complain("\(error)\n")
            return .exit(.configuration)
        } catch {
            complain("\(error)\n")
            return .exit(.usage)
        }
    }
}

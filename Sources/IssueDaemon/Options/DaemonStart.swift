import IssueProtocol

/// What comes before the daemon runs: the command line, the configuration, and the answers that need no daemon.
package enum DaemonStart: Sendable {
    /// Run with this, whatever is wrong with the files. A reload reads the source again.
    case run(EffectiveConfiguration, ConfigurationSource)
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
                let unit = surroundings.unit
                let subject = try CheckSubject(option: options.user, callerID: surroundings.userID, unit: unit)
                complain("Files checked as \(subject.explanation).\n")
                let view = try subject.assume(in: surroundings)
                let configuration = try Configuration.load(options.source, in: view, for: .looking)
                let warnings = configuration.warnings + subject.warnings(on: configuration.store.path, unit: unit)
                for warning in warnings { complain("Warning: \(warning)\n") }
            case .printConfiguration:
                output(try Configuration.load(options.source, in: surroundings, for: .looking).text)
            case .run:
                return .run(EffectiveConfiguration(options.source, in: surroundings), options.source)
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

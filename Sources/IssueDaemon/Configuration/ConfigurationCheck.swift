import Destinations
import IssueProtocol
import UnixIO

/// The user whose rights `issued --check` uses to read files.
///
/// Root can read everything, so checking as root would not show what the service can read.
struct CheckSubject: Equatable {
    enum Choice: Equatable {
        /// The user who runs the check.
        case caller
        case other(UserDatabase.User)
    }

    var choice: Choice
    /// A phrase that names the user and, unless it is obvious, the reason for the choice.
    var explanation: String
    /// Whether the daemon is assumed to run as this user.
    var isDaemonUser = true

    /// Chooses the user.
    ///
    /// - Parameters:
    ///   - option: The value of `--user`; nil without that option.
    ///   - callerID: The id of the user who runs the check.
    ///   - unit: The installed unit, which names the daemon's user.
    ///   - findUser: Finds a user by name or number.
    /// - Throws: `UsageError` if `option` names no user of this host.
    init(
        option: String?, callerID: UInt32, unit: ServiceUnit,
        findUser: (String) -> UserDatabase.User? = { UserDatabase.user(named: $0) }
    ) throws(UsageError) {
        let caller = findUser("\(callerID)")?.name ?? "\(callerID)"
        let name = option ?? unit.user
        choice = .caller
        guard let user = findUser(name) else {
            if option != nil { throw UsageError("--user: no user named \(name.truncatedForLog).") }
            explanation = "user \(caller) because there is no user \(name)"
            return
        }
        if user.userID == callerID {
            explanation = "user \(caller)"
        } else if callerID != 0 {
            explanation = "user \(caller), not as \(name): only root can do that"
            isDaemonUser = false
        } else {
            choice = .other(user)
            explanation = "user \(user.name)\(option == nil ? ", the user of \(unit.sourcePath)" : "")"
        }
    }

    /// Assumes the rights of the chosen user, and returns the environment of a service with that user. If the caller
    /// was chosen, only returns `environment`. Must be called before other threads exist.
    ///
    /// - Throws: `UsageError` if this process can't become that user.
    func assume(in environment: HostEnvironment) throws(UsageError) -> HostEnvironment {
        guard case .other(let user) = choice else { return environment }
        do throws(Errno) {
            try CurrentProcess.assume(user)
        } catch {
            throw UsageError("can't become user \(user.name): \(error).")
        }
        var environment = environment
        environment.userID = user.userID
        // The host's daemon is checked, not a daemon of that user.
        environment.variables = ["STATE_DIRECTORY": ServiceUnit.stateFolder]
        return environment
    }

    /// Returns a warning if the unit's sandbox may prevent the daemon from writing to the folder of the database.
    /// Returns none without an installed unit, or if the check uses the caller's rights.
    func warnings(on database: String, unit: ServiceUnit) -> [String] {
        guard unit.isInstalled, case .other = choice else { return [] }
        let folder = FileSystem.parentFolder(of: database)
        let writable = [ServiceUnit.stateFolder] + unit.writablePaths
        guard !FileSystem.isFolder(folder, inside: writable) else { return [] }
        return [
            "[Store] Path=\(database) is outside of \(ServiceUnit.stateFolder), and \(unit.sourcePath) may not let the "
                + "daemon write there: add ReadWritePaths=\(folder) to its [Service] section with systemctl edit "
                + "issued."
        ]
    }
}

/// The test of all destinations and notifiers by `issued --check --online`. It stores nothing and sends no
/// notification.
struct OnlineCheck {
    struct Outcome {
        /// The name of the destination, or `notifier` and the name of the notifier.
        var name: String
        var probe: DestinationProbe
    }

    let outcomes: [Outcome]

    /// Tests the destinations and notifiers one after the other.
    init(_ destinations: [DestinationConfiguration], _ notifiers: [NotifierConfiguration]) {
        // A peer that closes the connection must not end this process.
        try? Signal.pipe.ignore()
        outcomes =
            destinations.map { Outcome(name: $0.name, probe: $0.probe()) }
            + notifiers.map { Outcome(name: "notifier \($0.name)", probe: $0.probe()) }
    }

    /// Whether every destination would accept records and every notifier can be reached or run. A difference of the
    /// clocks is only a warning.
    var isPassed: Bool { outcomes.allSatisfy(\.probe.isAccepted) }

    /// The output for users.
    var text: String {
        guard !outcomes.isEmpty else { return "Neither a destination nor a notifier is configured.\n" }
        return outcomes.map { outcome in
            let probe = outcome.probe
            var lines = ["\(outcome.name): \(probe.isAccepted ? "ok" : "failed"), \(probe.message)"]
            if let advice = probe.advice { lines.append("  \(advice)") }
            if probe.hasClockSkew, let skew = probe.clockSkew {
                let seconds = skew.components.seconds
                let direction = seconds > 0 ? "behind" : "ahead of"
                lines.append(
                    "  Warning: the clock of this host is \(seconds.magnitude) s \(direction) that of the destination; "
                        + "see timedatectl status")
            }
            return lines.map { TerminalSanitizer.line($0) + "\n" }.joined()
        }.joined()
    }
}

extension NotifierConfiguration {
    /// Connects to the webhook's host, or only to its proxy, without sending a notification. For a program, checks that
    /// it can be run.
    func probe() -> DestinationProbe {
        if let program = settings.command?.arguments.first {
            return FileSystem.isExecutable(program)
                ? DestinationProbe(isAccepted: true, message: "\(program) can be run (not run by this check)")
                : DestinationProbe(isAccepted: false, message: "\(program) is not a program that this user can run")
        }
        var url = settings.url
        if let urlFile { url = (try? urlFile.readForCheck()).flatMap { WebhookURL($0.text) } }
        guard let url else {
            return DestinationProbe(
                isAccepted: false, message: "the file of URLCredential= can't be read or contains no URL",
                advice: "Run the check as root, or as the user of the service.")
        }
        return Webhook(
            format: settings.format, caFile: settings.caFile, proxy: settings.proxy, timeout: settings.requestTimeout,
            version: ProductVersion.text
        ).probe(url)
    }
}

extension DestinationConfiguration {
    /// Tests the destination with a request that stores nothing or, for a stream, only by connecting.
    fileprivate func probe() -> DestinationProbe {
        var token: ShippingToken?
        if let tokenFile {
            token = try? tokenFile.readForCheck()
            guard token != nil else {
                return DestinationProbe(
                    isAccepted: false, message: "the \(kind.format.credentialWord) can't be read",
                    advice: "Run the check as root, or as the user of the service.")
            }
        }
        if kind.name == LogzFormat.kind, LogzFormat.isStreaming(settings.options) {
            return LogzFormat(http, settings.options).probeStream()
        }
        func probe<Format: HTTPFormat>(_ format: Format.Type) -> DestinationProbe {
            Format(http, settings.options).probe(token: token) { Clock.wall }
        }
        return probe(kind.format)
    }
}

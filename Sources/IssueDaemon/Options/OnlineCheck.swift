import Destinations
import IssueProtocol
import UnixIO

/// The test of all destinations and notifiers by `issued --check --online`. It stores nothing and sends no
/// notification.
struct OnlineCheck {
    struct Outcome {
        /// The destination, or the word `notifier` and its name.
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

    /// `true` if every destination would accept records and every notifier can be reached. A difference of the clocks
    /// is only a warning.
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
    /// Connects to the host of the webhook and sends nothing, or checks that the program can be run.
    func probe() -> DestinationProbe {
        if let program = settings.command?.arguments.first {
            return FileSystem.isExecutable(program)
                ? DestinationProbe(isAccepted: true, message: "\(program) can be run; it was not")
                : DestinationProbe(isAccepted: false, message: "\(program) is not a program that this user can run")
        }
        var url = settings.url
        if let urlFile {
            // The service manager reads credentials as root.
            let text =
                urlFile.kind == .credential
                ? CurrentProcess.withOriginalRights { try? urlFile.read() } : try? urlFile.read()
            url = text.flatMap { WebhookURL($0.text) }
        }
        guard let url else {
            return DestinationProbe(
                isAccepted: false, message: "the file of the URL can't be read, or has no URL",
                advice: "Run the check as root, or as the user of the service.")
        }
        return Webhook(
            format: settings.format, caFile: settings.caFile, proxy: settings.proxy, timeout: settings.requestTimeout,
            version: ProductVersion.text
        ).probe(url)
    }
}

extension DestinationConfiguration {
    /// Tests the destination with a request that stores nothing.
    fileprivate func probe() -> DestinationProbe {
        var token: ShippingToken?
        if let tokenFile {
            // The service manager reads credentials as root.
            token =
                tokenFile.kind == .credential
                ? CurrentProcess.withOriginalRights { try? tokenFile.read() } : try? tokenFile.read()
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

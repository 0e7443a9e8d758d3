import Destinations
import IssueProtocol
import UnixIO

/// The test of all destinations by `issued --check --online`. It stores nothing.
struct OnlineCheck {
    struct Outcome {
        var destination: String
        var probe: DestinationProbe
    }

    let outcomes: [Outcome]

    /// Tests the destinations one after the other.
    init(_ destinations: [DestinationConfiguration]) {
        // A peer that closes the connection must not end this process.
        try? Signal.pipe.ignore()
        outcomes = destinations.map { Outcome(destination: $0.name, probe: $0.probe()) }
    }

    init(outcomes: [Outcome]) {
        self.outcomes = outcomes
    }

    /// `true` if every destination would accept records. A difference of the clocks is only a warning.
    var isPassed: Bool { outcomes.allSatisfy(\.probe.isAccepted) }

    /// The output for users.
    var text: String {
        guard !outcomes.isEmpty else { return "No destination is configured.\n" }
        return outcomes.map { outcome in
            let probe = outcome.probe
            var lines = ["\(outcome.destination): \(probe.isAccepted ? "ok" : "failed"), \(probe.message)"]
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

package import Destinations
package import IssueCore
import UnixIO

/// The settings of a `[Notify NAME]` section.
package struct NotifierSettings: Hashable, SectionSettings {
    /// The URL of the webhook; nil if a file holds it, or if a program is run instead.
    package var url: WebhookURL?
    /// The name or path of the file that holds the URL; nil for none.
    package var urlCredential: String?
    /// The name or path of the file that holds a bearer token; nil for none.
    package var credential: String?
    /// The program that gets the messages; nil for a webhook.
    package var command: NotifierCommand?
    package var format = WebhookFormat.json
    package var template: WebhookTemplate?
    package var caFile: String?
    package var proxy: String?
    package var filter = NotificationFilter()
    /// The rate of occurrences at which an issue escalates; unlimited if issues never escalate.
    package var escalated = Rate.unlimited
    /// How long events are gathered before they are sent together.
    package var delay: Duration = .milliseconds(500)
    /// The number of messages that may be sent at once; 0 for no limit.
    package var burst: Int64 = 20
    /// The rate at which `burst` refills.
    package var rate = Rate(60, per: .seconds(3600))
    package var requestTimeout: Duration = .seconds(10)
    /// How long sending a message is retried before it is given up.
    package var retryFor: Duration = .seconds(3600)

    package init() {}

    /// The rate limit for messages.
    package var limit: BucketLimit { BucketLimit(burst: burst, refill: rate) }

    /// The value of `escalated`; nil if escalations are not reported.
    var escalation: Rate? {
        escalated.isUnlimited || !filter.kinds.contains(.escalated) ? nil : escalated
    }
}

/// A notifier that can be used.
package struct NotifierConfiguration: Hashable, Sendable {
    package var name: String
    package var settings: NotifierSettings
    /// The file of the URL; nil if `URLCredential=` is not set.
    package var urlFile: TokenFile?
    /// The file of the bearer token; nil if none is sent.
    package var tokenFile: TokenFile?
}

extension NotifierConfiguration {
    /// One sentence for each setting that is valid but probably a mistake.
    var warnings: [String] {
        var warnings: [String] = []
        if let program = settings.command?.arguments.first, !FileSystem.isExecutable(program) {
            warnings.append("Notifier \(name): Command=\(program) is not a program that this user can run.")
        } else if let program = settings.command?.arguments.first, let risk = Self.risk(of: program) {
            warnings.append(
                "Notifier \(name): Command=\(program) runs with the daemon's rights, but \(risk); expected a program "
                    + "that only root or the daemon's own user can change.")
        }
        if settings.command != nil, settings.credential != nil || settings.proxy != nil || settings.caFile != nil {
            warnings.append("Notifier \(name): Credential=, Proxy= and CAFile= have no effect on Command=.")
        }
        let filter = settings.filter
        for (key, names) in [("Apps", filter.apps), ("Environments", filter.environments), ("Units", filter.units)] {
            guard let listed = names.first(where: { $0.contains(",") }) else { continue }
            warnings.append("Notifier \(name): \(key)=\(listed) has a comma in a name; names are separated by blanks.")
        }
        let kinds = settings.filter.kinds
        if settings.escalated.isUnlimited, kinds.contains(.escalated), kinds != NotificationFilter().kinds {
            warnings.append(
                "Notifier \(name): On= contains escalated, but Escalated= is 0 or not set; set it, for example to "
                    + "100/h.")
        }
        if !settings.escalated.isUnlimited, !kinds.contains(.escalated) {
            warnings.append("Notifier \(name): Escalated= has no effect, because On= does not contain escalated.")
        }
        return warnings
    }

    /// Returns why other users can change or replace a program; nil if they can't. Checks the owner of the file and of
    /// each folder above it, and whether every user or a group other than root's and the daemon's own can write to them.
    private static func risk(of program: String) -> String? {
        var path = program
        while let status = try? FileSystem.status(of: path) {
            let subject = path == program ? "it" : "the folder \(path)"
            guard status.uid == 0 || status.uid == CurrentProcess.userID else {
                return "\(subject) belongs to user \(status.uid)"
            }
            // In a folder with the sticky bit, nobody can replace the files of others.
            if path == program || status.mode & 0o1000 == 0 {
                let mode = "(mode \(ValueForm<UInt32>.mode.text(status.mode)))"
                if status.mode & 0o002 != 0 { return "every user can write to \(subject) \(mode)" }
                if status.mode & 0o020 != 0, ![0, CurrentProcess.groupID].contains(status.gid) {
                    return "group \(status.gid) can write to \(subject) \(mode)"
                }
            }
            guard path != "/" else { return nil }
            path = FileSystem.parentFolder(of: path)
        }
        return nil
    }
}

extension ConfigurationTable {
    /// The keys of `[Notify NAME]`.
    static let notifier: [ConfigurationKey<NotifierSettings>] = [
        .init(optional: "URL", \.url, .webhook, "The URL of the webhook, if it contains no secret."),
        .init(optional: "URLCredential", \.urlCredential, .credential, "The credential or file that holds the URL."),
        .init(optional: "Command", \.command, .command, "The program that gets the messages, and its arguments."),
        .init(optional: "Credential", \.credential, .credential, "The credential or file that holds a bearer token."),
        .init("Format", \.format, .choice, "The format of the messages."),
        .init(optional: "Template", \.template, .template, "JSON with placeholders, instead of Format=."),
        .init("On", \.filter.kinds, .notificationKinds, "The events that are reported."),
        .init(
            "Escalated", \.escalated, .escalation, "The rate of occurrences at which an issue escalates."),
        .init("Apps", \.filter.apps, .patterns, "Only issues of these applications."),
        .init("Environments", \.filter.environments, .patterns, "Only issues of these environments."),
        .init("Units", \.filter.units, .patterns, "Only issues of these systemd units."),
        .init("Severity", \.filter.severity, .choice, "Only issues of this severity and above."),
        .init(
            "Delay", \.delay, .duration(.zero...(.seconds(3600))), "How long events are gathered into one message."),
        .init(
            "Burst", \.burst, .count(NotificationPacer.minBurst...1_000_000, zero: "no limit"),
            "The burst of messages."),
        .init("Rate", \.rate, .rate, "The rate at which Burst= refills."),
        .init(
            "RequestTimeout", \.requestTimeout, .duration(.milliseconds(100)...(.seconds(600))),
            "The timeout for a request or command."),
        .init(
            "RetryFor", \.retryFor, .duration(.seconds(1)...(.seconds(30 * 86_400))), "How long a message is retried."),
        .init(optional: "CAFile", \.caFile, .path, "The certificates to trust instead of the system's."),
        .init(optional: "Proxy", \.proxy, .proxy, "The proxy to use."),
    ]
}

extension ValueForm where Value == WebhookURL {
    static var webhook: Self {
        ValueForm(
            expected: "a URL such as https://hooks.example.com/issued; a URL with a “?” or a secret belongs in the "
                + "file that URLCredential= names",
            parse: { text in text.contains("?") ? nil : WebhookURL(text) }, text: { $0.text }, isQuotable: false)
    }
}

extension ValueForm where Value == WebhookTemplate {
    static var template: Self {
        ValueForm(
            expected: "JSON with placeholders inside its strings: "
                + WebhookTemplate.placeholders.map { "{\($0)}" }.joined(separator: ", "),
            parse: { WebhookTemplate($0) }, text: { $0.text }, isQuotable: false)
    }
}

extension ValueForm where Value == Rate {
    /// A number of occurrences in a period; 0, which means never, is parsed as unlimited.
    static var escalation: Self {
        let periods: ClosedRange<Duration> = .seconds(10)...(.seconds(30 * 86_400))
        return ValueForm(
            expected: "a rate such as 100/h or 500/15min, \(RateText.bounds(periods)), or 0: never",
            parse: { text in
                RateText.parse(text).flatMap { $0.isUnlimited || periods ~= $0.period ? $0 : nil }
            }, text: { RateText.text($0) })
    }
}

extension ValueForm where Value == NotificationKinds {
    static var notificationKinds: Self {
        ValueForm(
            expected: "words from \(NotificationKinds.all.names.joined(separator: ", ")), separated by blanks",
            parse: { text in
                var kinds: NotificationKinds = []
                for word in text.split(whereSeparator: \.isBlank) {
                    guard let kind = NotificationKinds(name: String(word)) else { return nil }
                    kinds.formUnion(kind)
                }
                return kinds
            }, text: { $0.names.joined(separator: " ") })
    }
}

extension ValueForm where Value == [String] {
    /// Names separated by blanks. Each may end with `*`, which stands for any text.
    static var patterns: Self {
        ValueForm(
            expected: "at most 50 names of at most 256 bytes, separated by blanks; only the end of a name can be *, "
                + "and no name begins with #",
            parse: { text in
                let words = text.split(whereSeparator: \.isBlank).map { String($0) }
                let hasWrong = words.contains {
                    $0.utf8.count > 256 || $0.dropLast().contains("*") || $0.hasPrefix("#")
                }
                return words.count > 50 || hasWrong ? nil : words
            }, text: { $0.joined(separator: " ") })
    }
}

/// A program and its arguments, as in the `ExecStart=` of a systemd unit, but without variables and prefixes.
///
/// Arguments are separated by blanks. Quotation marks (`"` or `'`) keep blanks, and a backslash begins an escape. No
/// shell is involved, so `|`, `>`, `*` and `$` have no special meaning.
package struct NotifierCommand: Hashable, Sendable {
    /// The line as it was written.
    package let text: String
    /// The absolute path of the program, and its arguments.
    package let arguments: [String]

    package static let maxBytes = 4096
    package static let maxArguments = 64

    /// Returns nil if the line is invalid: for example no absolute path, an open quotation mark, an unknown escape, or
    /// too many bytes or arguments.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maxBytes, let words = Self.words(of: text), let program = words.first,
            program.hasPrefix("/"), !program.hasSuffix("/"), words.count <= Self.maxArguments,
            words.allSatisfy({ !$0.utf8.contains(0) })
        else { return nil }
        self.text = text
        arguments = words
    }

    private static func words(of text: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "\\" {
                guard let value = escape(takenFrom: &rest) else { return nil }
                word = (word ?? "") + value
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
                // Empty quotation marks are an empty argument.
                word = word ?? ""
            } else if quote == nil, character == " " || character == "\t" {
                if let finished = word { words.append(finished) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return quote == nil ? words : nil
    }

    private static func escape(takenFrom rest: inout Substring) -> String? {
        guard let character = rest.popFirst() else { return nil }
        switch character {
        case "\\", "\"", "'", " ": return String(character)
        case "s": return " "
        case "n": return "\n"
        case "t": return "\t"
        case "x":
            let digits = rest.prefix(2)
            // `UInt8` accepts a sign, too. A byte above 0x7F alone is not UTF-8.
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let code = UInt8(digits, radix: 16), code > 0,
                code < 0x80
            else { return nil }
            rest = rest.dropFirst(2)
            return String(UnicodeScalar(code))
        case _: return nil
        }
    }
}

extension ValueForm where Value == NotifierCommand {
    static var command: Self {
        ValueForm(
            expected:
                "the absolute path of a program and its arguments, such as /usr/local/bin/page --urgent \"on call\"",
            parse: { NotifierCommand($0) }, text: { $0.text }, isQuotable: false)
    }
}

package import IssueProtocol
import Issues
import UnixIO

/// `issuectl bundle`: writes a text file with diagnostics but no secrets. With `--with-messages`, the file also
/// contains reported messages, anonymised.
///
/// Like `sql`, it runs in `issued-sql`, which can open the database. If that program cannot be run, `issuectl` writes
/// the bundle without the parts that need the database.
struct BundleCommand: Command {
    static let output = OptionSpecification(
        "output", short: "o", value: "FILE", from: .files,
        "Write to FILE, or to standard output if FILE is - (default: a new file in the current folder)")
    static let force = OptionSpecification("force", "Replace FILE if it exists")
    static let messages = OptionSpecification(
        "with-messages", "Include the newest records, anonymised")
    static let limit = OptionSpecification(
        "limit", short: "n", value: "NUMBER", "Maximum number of records with --with-messages (default \(defaultLimit))"
    )
    static let configuration = OptionSpecification(
        "config", value: "FILE", from: .files, "The daemon's configuration file (default: the standard files)")
    static let database = OptionSpecification(
        "database", value: "FILE", from: .files,
        "The database (default: the path in the configuration, or the path that the daemon reports)")

    static let specification = CommandSpecification(
        name: "bundle", summary: "Write a support bundle: a text file with diagnostics",
        sections: [("Output", [output, force]), ("Content", [messages, limit, configuration, database])],
        hasTimeout: false,
        notes: [
            "The bundle has these parts: system, versions, configuration, status, health, metrics, doctor, "
                + "service, log, files, schema, rows, ledger, limits, plans. If a part cannot be collected, the "
                + "bundle contains the reason instead. The daemon need not run. Run the command as root, because "
                + "other users cannot collect all parts.",
            "The bundle contains the names of hosts, applications, destinations and files, but no reported "
                + "messages, metadata or secrets. Values in the log that may quote a report are removed, and so are "
                + "the paths in the URLs of webhooks.",
            "With --with-messages, the bundle also has the part messages: the newest records, with only the "
                + "constant words of each message and the type of each metadata value. Words that also occur in the "
                + "metadata are replaced. Read the file before you share it.",
            "Only you can read the file. An existing file is replaced only with --force.",
        ],
        examples: [
            "sudo issuectl bundle", "sudo issuectl bundle -o /tmp/issued.txt --with-messages",
            "sudo issuectl bundle -o - | less",
        ])

    private static let defaultLimit = 100
    private static let maxLimit: Int64 = 2000

    private let arguments: ParsedArguments
    private let count: Int

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        self.arguments = arguments
        let limit = try arguments.integer(Self.limit, in: 1...Self.maxLimit)
        guard limit == nil || arguments.has(Self.messages) else {
            throw UsageError("--limit is only used with --with-messages")
        }
        if arguments[Self.output] == "" { throw UsageError("", of: Self.output, expected: "a file") }
        let format = [CommonOptions.json, CommonOptions.lines].first { arguments.has($0) }
        if arguments[Self.output] == "-", let format {
            throw UsageError("\(format.spelling) prints the path of a file, so it cannot be used with --output -")
        }
        count = arguments.has(Self.messages) ? Int(limit ?? Int64(Self.defaultLimit)) : 0
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        var databaseFailure = CommandFailure(.unavailable, "the database can't be read")
        switch context.sql {
        case .library(let open):
            return try write(in: context) { (path) throws(CommandFailure) in try open(path) }
        case .program(let run):
            // Checked first, so that `issuectl` reports an existing file before `issued-sql` runs.
            _ = try path(in: context)
            do throws(CommandFailure) {
                return try run("issued-sql")
            } catch {
                databaseFailure = error
            }
        }
        return try write(in: context) { _ throws(CommandFailure) in throw databaseFailure }
    }

    private func write(
        in context: CommandContext, _ open: @escaping (_ path: String?) throws(CommandFailure) -> any SQLDatabase
    ) throws(CommandFailure) {
        let path = try path(in: context)
        let collector = BundleCollector(
            context: context, configuration: arguments[Self.configuration], database: arguments[Self.database],
            recordCount: count, open: open)
        context.publishProgress("collecting")
        let bundle = collector.collect()
        context.publishProgress("")
        if let warning = bundle.warning { context.warn(warning) }
        let text = Array(bundle.text.utf8)
        guard let path else { return try context.print(text: bundle.text) }
        do throws(HostTools.Failure) {
            try context.tools.save(text, path, arguments.has(Self.force))
        } catch {
            if error.isExisting { throw Self.exists(path) }
            throw CommandFailure(.refused, "cannot write \(path): \(error.reason)")
        }
        switch context.format {
        case .human: try context.print(lines(path, bytes: text.count, bundle))
        case .json, .lines:
            let missing = bundle.missing.map { part in
                JSONValue.object([.init("part", .string(part.name)), .init("reason", .string(part.reason ?? ""))])
            }
            let members: [JSONValue.Member] = [
                .init("path", .string(path)), .init("bytes", .integer(Int64(text.count))),
                .init("parts", .array(bundle.parts.map { .string($0.name) })), .init("missing", .array(missing)),
            ]
            try context.print(json: JSONValue.object(members).json)
        }
    }

    private func lines(_ path: String, bytes: Int, _ bundle: SupportBundle) -> [String] {
        let missing = bundle.missing.map { part in
            "missing: \(part.name): \(TerminalSanitizer.line(part.shortReason ?? ""))"
        }
        return [
            "\(TerminalSanitizer.line(path)): \(Quantity.bytes(bytes)), \(Quantity.text(bundle.parts.count, "part"))"
        ]
            + missing + ["Read it before you share it."]
    }

    /// Returns the path of the file to write; nil for standard output. Throws if the file must not be written.
    private func path(in context: CommandContext) throws(CommandFailure) -> String? {
        let name = "issued-bundle-\(context.now.description.filter { $0 != ":" }.prefix { $0 != "." })Z.txt"
        guard let chosen = arguments[Self.output] else { return try checked(name) }
        if chosen == "-" { return nil }
        return try checked(try FileSaving.path(at: chosen, named: name, otherwise: "no bundle was written"))
    }

    /// Returns the path if a file may be written there. Throws if something exists there, unless `--force` was given
    /// and it is a regular file or a symbolic link.
    private func checked(_ path: String) throws(CommandFailure) -> String {
        guard let status = try? FileSystem.status(of: path, followingLinks: false) else { return path }
        guard arguments.has(Self.force) else { throw Self.exists(path) }
        // A device or a pipe would be replaced by a file.
        guard status.kind == .regular || status.kind == .symbolicLink else {
            throw CommandFailure(.refused, "\(path) is not a regular file")
        }
        return path
    }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure(.refused, "\(path) already exists: use --force to replace it")
    }
}

/// A support bundle: a text with diagnostics of the daemon and its host, in parts.
///
/// A part that cannot be collected is listed as missing, with the reason.
struct SupportBundle {
    /// A part, and its text or the reason for its absence.
    struct Part {
        var name: String
        var summary: String
        var content: Content

        enum Content {
            case text(String)
            case missing(String)
        }

        /// The reason why the part is missing; nil if it is present.
        var reason: String? {
            if case .missing(let reason) = content { reason } else { nil }
        }

        /// The reason in one line, for a list; nil if the part is present. If a program failed, the reason includes the
        /// first line of its output.
        var shortReason: String? {
            guard let lines = reason?.split(separator: "\n"), let first = lines.first else { return nil }
            return lines.count > 1 && first.hasSuffix(":") ? "\(first) \(lines[1])" : String(first)
        }
    }

    /// The version of the format, for programs that read bundles.
    static let format = 1

    let parts: [Part]
    let hasMessages: Bool
    /// A reason to doubt that all parts describe the same daemon; nil if there is none.
    var warning: String?
    let now: IssueTimestamp
    let userID: UInt32

    var missing: [Part] { parts.filter { $0.reason != nil } }

    /// The text of the bundle. It ends with a line feed.
    var text: String {
        let width = parts.map(\.name.count).max() ?? 0
        let messages =
            hasMessages
            ? "Messages and metadata are anonymised: values are replaced, constant text remains."
            : "It contains no reported message and no metadata."
        var text = """
            issued support bundle, format \(Self.format)
            made \(now.description) by issuectl \(ProductVersion.text), user \(userID)

            Read this file before you share it. It contains no token, password or key.
            \(messages)
            It contains the names of hosts, applications, destinations and files, and the ids of users.
            \(warning.map { "\nNote: \($0)\n" } ?? "")

            """
        for part in parts {
            let state = part.reason == nil ? part.summary : "missing: \(part.shortReason ?? "")"
            text += "\(Fitting.pad(part.name, to: width))  \(state)\n"
        }
        for part in parts {
            text += "\n==== \(part.name) ====\n\n"
            switch part.content {
            case .text(let content): text += content
            case .missing(let reason): text += "missing: \(reason)\n"
            }
            if text.last != "\n" { text += "\n" }
        }
        return Self.printable(text)
    }

    /// Replaces the characters that a terminal could interpret, except line feeds and tabs.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control where scalar != "\n" && scalar != "\t", .format, .lineSeparator, .paragraphSeparator:
                        "?"
                    default: scalar
                    }
                }))
    }
}

/// Removes reported messages and secrets from the texts of a support bundle.
package enum BundleFilters {
    /// The text that replaces a removed value.
    static let removed = "(removed)"

    /// The fields of log lines that never contain reported messages or metadata. The values of all other fields are
    /// removed, including those of fields that only newer daemons log. Of `answer`, the status code is kept.
    private static let plainFields: Set<String> = [
        "advice", "app", "before", "bytes", "changed", "checked", "closed", "connections", "correction", "count",
        "critical", "database", "destination", "ended", "error", "errors", "events", "expired", "file", "first",
        "folder", "free", "group", "groups", "held", "how", "id", "issues", "largest_connections", "largest_uid",
        "left_out", "limit", "merged", "method", "most_of_uid", "names", "new", "notifier", "of", "path", "pid",
        "reason", "record", "records", "refused", "regressed", "request", "result", "severity", "socket", "state", "t",
        "threads", "took", "uid", "unreadable", "user", "users", "version", "warning",
    ]

    // MARK: The log

    /// Returns lines of the log without reported text: removes the values of fields that may contain it, user names and
    /// passwords in URLs, and all of an `answer` except its status code.
    package static func log(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { filtered($0) }.joined(separator: "\n")
    }

    private static func filtered(_ line: Substring) -> String {
        var output = ""
        var rest = line
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].reversed().prefix { $0.isASCII && ($0.isLowercase || $0 == "_") }
            let start = rest.index(equals, offsetBy: -name.count)
            let value = Self.value(in: rest[rest.index(after: equals)...])
            output += rest[...equals]
            rest = rest[value.endIndex...]
            let isField = !name.isEmpty && (start == line.startIndex || line[line.index(before: start)] == " ")
            switch String(name.reversed()) {
            case "answer" where isField: output += statusCode(of: value) ?? removed
            case let name where isField && !plainFields.contains(name): output += removed
            default: output += value
            }
        }
        return addresses(in: output + rest)
    }

    /// Returns the value at the start of a text, with its quotation marks.
    private static func value(in text: Substring) -> Substring {
        guard text.first == "\"" else { return text.prefix { $0 != " " } }
        var isEscaped = false
        var index = text.index(after: text.startIndex)
        while index < text.endIndex {
            let character = text[index]
            index = text.index(after: index)
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            }
        }
        return text[..<index]
    }

    /// Returns the status code at the start of a summary of an answer, such as `401` of `401: unauthorised`; nil if it
    /// starts with none.
    package static func statusCode(of answer: some StringProtocol) -> String? {
        let digits = answer.drop { $0 == "\"" }.prefix { $0.isASCII && $0.isNumber }
        return digits.count == 3 ? String(digits) : nil
    }

    // MARK: Addresses

    /// Returns a text without user names and passwords in URLs.
    package static func addresses(in text: String) -> String {
        var output = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "://") {
            output += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let authority = rest.prefix { !" /?#\"'\n\t".contains($0) }
            guard let at = authority.lastIndex(of: "@") else { continue }
            output += "\(removed)@"
            rest = rest[authority.index(after: at)...]
        }
        return output + rest
    }

    // MARK: The configuration

    /// Returns the output of `issued --print-config` without values that may be secret.
    ///
    /// The daemon prints no credentials. But the URL of a webhook is often a secret, although it should be in a
    /// separate file, and the template of a message or the arguments of a program may contain a secret.
    package static func configuration(_ text: String) -> String {
        var isNotifier = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.hasPrefix("[") { isNotifier = line.hasPrefix("[Notify ") }
            guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#"),
                equals != line.index(before: line.endIndex)
            else { return addresses(in: String(line)) }
            let (key, value) = (line[..<equals], line[line.index(after: equals)...])
            switch key {
            case "URL" where isNotifier: return "\(key)=\(origin(of: value))"
            case "Template" where isNotifier: return "\(key)=\(removed)"
            case "Command" where isNotifier: return "\(key)=\(program(of: value))"
            default: return addresses(in: String(line))
            }
        }.joined(separator: "\n")
    }

    /// Returns the scheme, host and port of a URL, followed by `/(removed)` if the URL has other parts. Returns
    /// `(removed)` for a text that is not a URL.
    private static func origin(of url: Substring) -> String {
        guard let mark = url.firstRange(of: "://") else { return removed }
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let isWhole = url[authority.endIndex...].allSatisfy { $0 == "/" } && host.count == authority.count
        return "\(url[..<mark.upperBound])\(host)\(isWhole ? "" : "/\(removed)")"
    }

    /// Returns a command line without the arguments, which may contain a token. Returns `(removed)` if the path of the
    /// program is not absolute, or contains quotation marks or escapes.
    private static func program(of command: Substring) -> String {
        let path = command.prefix { $0 != " " && $0 != "\t" }
        // A path with quotation marks or escapes may contain spaces.
        guard path.hasPrefix("/"), !path.contains(where: { "\"'\\".contains($0) }) else { return removed }
        return path.endIndex == command.endIndex ? String(path) : "\(path) \(removed)"
    }

    /// Returns the value of a key in a printed configuration; nil if it is absent.
    static func value(of key: String, in section: String, of text: String) -> String? {
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { isInside = line == "[\(section)]" }
            if isInside, line.hasPrefix("\(key)=") { return String(line.dropFirst(key.count + 1)) }
        }
        return nil
    }

    // MARK: The status

    /// Returns the status with the answers of destinations and notifiers reduced to their status codes, because answers
    /// may quote records. Also removes user names and passwords from URLs in the advice on destinations.
    package static func status(_ status: DaemonStatus) -> DaemonStatus {
        var status = status
        for index in status.destinations.indices {
            status.destinations[index].lastAnswer = status.destinations[index].lastAnswer.map {
                statusCode(of: $0) ?? removed
            }
            status.destinations[index].advice = status.destinations[index].advice.map { addresses(in: $0) }
        }
        for index in status.notifiers.indices {
            status.notifiers[index].lastAnswer = status.notifiers[index].lastAnswer.map {
                statusCode(of: $0) ?? removed
            }
        }
        return status
    }
}

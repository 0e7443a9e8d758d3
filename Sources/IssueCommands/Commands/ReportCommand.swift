package import IssueProtocol
import Issues
import UnixIO

/// `issuectl report`: reports issues from scripts, like `logger`.
struct ReportCommand: Command {
    static let jsonLines = OptionSpecification(
        "json-lines", "Reject lines of standard input that are not JSON records (default: report them as messages)")
    static let quiet = OptionSpecification("quiet", short: "q", "Do not print the ids of stored records")
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time to send each batch of records, with retries (default 10s)")
    static let spool = OptionSpecification(
        "spool",
        "Save records that the daemon does not accept in time; the next issuectl command or reporting program that you "
            + "run sends them")
    static let id = OptionSpecification(
        "id", value: "KEY", "Identify the report, so that a retry with the same KEY stores nothing twice")
    static let standardError = OptionSpecification("stderr", short: "s", "Also print each message to standard error")

    static let specification = CommandSpecification(
        name: "report", summary: "Report issues and print their ids", operands: .any("MESSAGE"),
        acceptsEmptyOperands: true,
        sections: [
            ("Record", ReportOptions.all),
            ("Options", [jsonLines, timeout, spool, id, quiet, standardError]),
        ],
        notes: [
            "Without MESSAGE, each line of standard input that is not blank is reported. If a line is rejected, "
                + "an error message shows its number, the other lines are stored, and the exit status is 1.",
            "The id of a record is printed when the record is on disk. ISSUED_APP, ISSUED_VERSION and "
                + "ISSUED_ENVIRONMENT are the defaults of --app, --app-version and --environment. Without --app and "
                + "ISSUED_APP, the application name is that of the calling shell script, of another calling program "
                + "such as python3, or of the service; otherwise issuectl.",
            "--spool saves records in issued/unsent/issuectl below XDG_STATE_HOME (default ~/.local/state) or, if "
                + "STATE_DIRECTORY is set, in issues-unsent/issuectl below that. They are sent at the end of your next "
                + "issuectl command that reaches the daemon, or by your next program that uses the client library.",
            "Exits with 0 if all records were stored or, with --spool, saved; with 69 if the daemon is not "
                + "reachable; and with 75 after a timeout. After a timeout, the records may have been stored; the "
                + "error message then says with which --id to retry.",
        ],
        examples: [
            "issuectl report --app backup -p error \"No space left on /srv\"",
            "issuectl report --metadata attempt=3 --metadata host=db1 Retry failed",
            "issuectl report --spool --timeout 2s \"The backup failed\"",
            "make 2>&1 | grep error: | issuectl report -t nightly-build",
        ])

    private let arguments: ParsedArguments
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        self.arguments = arguments
        if arguments.has(Self.jsonLines), !arguments.operands.isEmpty {
            throw UsageError("--json-lines reads standard input and takes no MESSAGE")
        }
        timeout = try arguments.duration(Self.timeout) ?? .seconds(10)
        if try arguments.single(Self.id) == "" { throw UsageError("", of: Self.id, expected: "a non-empty text") }
        // Validates the options. They are evaluated again, with the environment variables, when the command runs.
        _ = try ReportOptions.template(arguments, variable: { _ in nil })
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let template = try ReportOptions.template(arguments, in: context)
        let key = arguments[Self.id]
        var session = ReportSession(
            context: context, template: template,
            options: .init(
                isQuiet: arguments.has(Self.quiet), echoes: arguments.has(Self.standardError), timeout: timeout,
                spools: arguments.has(Self.spool),
                producer: key.map { ReportID.producer(for: $0) } ?? context.reporting.makeProducer(), key: key))
        try session.begin()
        do throws(CommandFailure) {
            try report(in: &session, context)
        } catch {
            // The receipts of earlier calls are printed even if a later one failed.
            session.printReceipts()
            throw error
        }
        try session.finish()
    }

    private func report(in session: inout ReportSession, _ context: CommandContext) throws(CommandFailure) {
        if arguments.operands.isEmpty {
            if context.terminal.isInputTerminal {
                context.warn("each line is reported as a message; end the input with Ctrl-D")
            }
            try session.report(linesOf: context.input, areAllJSON: arguments.has(Self.jsonLines))
        } else {
            let message = arguments.operands.joined(separator: " ")
            // An empty message is still reported: the script has found a problem, but a variable in the message is
            // empty.
            if message.allSatisfy(\.isWhitespace) { context.warn("the message is empty; reporting it anyway") }
            try session.report(message: message)
        }
    }
}

/// The options of `report` that describe the record.
enum ReportOptions {
    static let severity = OptionSpecification(
        "severity", short: "p", value: "LEVEL", from: .words(SeverityWord.forms),
        "debug, info, warning, error, critical, or a priority as for logger -p")
    static let domain = OptionSpecification("domain", value: "NAME", "The error domain")
    static let code = OptionSpecification("code", value: "NUMBER", "The error code")
    static let app = OptionSpecification("app", value: "NAME", from: .applications, "The application name")
    static let tag = OptionSpecification(
        "tag", short: "t", value: "NAME", from: .applications, "Same as --app, for compatibility with logger")
    static let version = OptionSpecification("app-version", value: "VERSION", "The application version")
    static let environment = OptionSpecification(
        "environment", value: "NAME", "The environment, such as production or staging")
    static let metadata = OptionSpecification(
        "metadata", short: "m", value: "KEY=VALUE", "Additional data; VALUE is JSON or plain text (repeatable)")
    static let fingerprint = OptionSpecification(
        "fingerprint", value: "TEXT", "Group the record by this text instead of the computed fingerprint")
    static let file = OptionSpecification("file", value: "FILE", from: .files, "The source file")
    static let line = OptionSpecification("line", value: "NUMBER", "The line in the source file")
    static let function = OptionSpecification("function", value: "NAME", "The function in the source file")
    static let notReportable = OptionSpecification("not-reportable", "Store and count the record, but never forward it")

    static let all = [
        severity, domain, code, app, tag, version, environment, metadata, fingerprint, file, line, function,
        notReportable,
    ]

    /// Returns the template of all records. The environment variables of the client library are the defaults of the
    /// options for the application's name, version and environment.
    ///
    /// - Parameter variable: Returns the value of an environment variable; nil if it is not set.
    static func template(
        _ arguments: ParsedArguments, variable: (String) -> String?
    ) throws(UsageError) -> RecordTemplate {
        func fallback(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        func name(_ option: OptionSpecification) throws(UsageError) -> String? {
            try arguments.value(of: option, expected: FilterOptions.appForms) { $0.isEmpty ? nil : $0 }
        }
        let (named, tagged) = (try name(app), try name(tag))
        let application = object([
            ("name", text(named ?? tagged ?? fallback("ISSUED_APP"))),
            ("version", text(arguments[version] ?? fallback("ISSUED_VERSION"))),
            ("environment", text(arguments[environment] ?? fallback("ISSUED_ENVIRONMENT"))),
        ])
        let source = object([
            ("file_id", text(arguments[file])),
            ("line", number(try arguments.integer(line, in: 0...Int64.max))),
            ("function", text(arguments[function])),
        ])
        let level = try SeverityWord.value(of: severity, in: arguments)
        let record = object([
            ("severity", text(level?.name)),
            ("domain", text(arguments[domain])),
            ("code", number(try arguments.integer(code, in: Int64.min...Int64.max))),
            ("source", source),
            ("app", application),
            ("fingerprint", text(arguments[fingerprint])),
            ("metadata", try metadataObject(arguments)),
            ("reportable", arguments.has(notReportable) ? .bool(false) : nil),
        ])
        return RecordTemplate(record?.asObject ?? [])
    }

    /// Returns the template of all records. If neither the options nor the environment variables name an application,
    /// the template contains the application name of the caller.
    static func template(
        _ arguments: ParsedArguments, in context: CommandContext
    ) throws(CommandFailure) -> RecordTemplate {
        do throws(UsageError) {
            return try template(arguments, variable: context.environment).named(context.reporting.caller)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }

    private static func metadataObject(_ arguments: ParsedArguments) throws(UsageError) -> JSONValue? {
        var members: [JSONValue.Member] = []
        for member in try arguments.values(of: metadata, expected: "KEY=VALUE", MetadataPair.member) ?? [] {
            guard !members.contains(where: { $0.key == member.key }) else {
                throw UsageError("\(metadata.spelling) has the key '\(member.key)' twice")
            }
            members.append(member)
        }
        return members.isEmpty ? nil : .object(members)
    }

    private static func object(_ members: [(String, JSONValue?)]) -> JSONValue? {
        let present = members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } }
        return present.isEmpty ? nil : .object(present)
    }

    private static func text(_ text: String?) -> JSONValue? { text.map { .string($0) } }
    private static func number(_ number: Int64?) -> JSONValue? { number.map { .integer($0) } }
}

/// The members that the options of `report` add to each record. Members of the record itself take precedence.
struct RecordTemplate {
    /// The members, named as on the wire.
    private let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) {
        self.members = members
    }

    /// The application name; nil if the template has none.
    var app: String? {
        members.first { $0.key == "app" }?.value["name"]?.asString
    }

    /// Returns the template with the given application name, or unchanged if it has one already or the name is nil.
    func named(_ name: String?) -> RecordTemplate {
        guard let name, app == nil else { return self }
        var members = members
        let member = JSONValue.Member("name", .string(name))
        if let index = members.firstIndex(where: { $0.key == "app" }) {
            members[index].value = .object([member] + (members[index].value.asObject ?? []))
        } else {
            members.append(JSONValue.Member("app", .object([member])))
        }
        return RecordTemplate(members)
    }

    func record(message: String) -> JSONValue {
        .object([JSONValue.Member("message", .string(message))] + members)
    }

    /// Returns the record, with the template's value for each member that is missing or null. Objects that both have,
    /// such as the metadata, are completed in the same way.
    func record(completing record: [JSONValue.Member]) -> JSONValue {
        var result = record
        for member in members {
            guard let index = result.lastIndex(where: { $0.key == member.key }) else {
                result.append(member)
                continue
            }
            if result[index].value.isNull { result[index] = member }
            guard case .object(let own) = result[index].value, case .object(let more) = member.value else { continue }
            let present = own.filter { !$0.value.isNull || !more.map(\.key).contains($0.key) }
            let missing = more.filter { candidate in !present.contains { $0.key == candidate.key } }
            result[index].value = .object(present + missing)
        }
        return .object(result)
    }
}

/// The default application name of a report.
package enum CallerName {
    /// Programs that run other programs. Their names do not identify the origin of an issue.
    private static let runners: Set<String> = [
        "ash", "atd", "bash", "busybox", "cron", "crond", "csh", "dash", "doas", "env", "fish", "flock", "init",
        "ionice", "ksh", "login", "mksh", "nice", "nohup", "runuser", "screen", "setpriv", "sh", "sshd", "stdbuf",
        "su", "sudo", "systemd", "tcsh", "time", "timeout", "tmux", "xargs", "zsh",
    ]

    /// Shells whose first argument after the options is the name of a script. Shells that rarely run scripts are left
    /// out.
    private static let shells: Set<String> = ["ash", "bash", "dash", "ksh", "sh", "zsh"]

    /// Returns the name of the script that the parent process runs, if that process is a shell, and otherwise the name
    /// of the parent process. If the parent is unknown or only runs other programs, returns the name of the service
    /// without its suffix, or `issuectl` outside of a service. The service manager of a user (`user@UID.service`) does
    /// not count as a service.
    ///
    /// - Parameters:
    ///   - parent: The short name of the parent process; nil if it is unknown.
    ///   - arguments: The first arguments of the parent process, beginning with its own name. Evaluated only if it is a
    ///     shell or busybox.
    ///   - unit: The systemd unit of this process; nil if there is none.
    package static func name(parent: String?, arguments: @autoclosure () -> [String] = [], unit: String?) -> String {
        if let parent, parent == "busybox" || shells.contains(parent) {
            // `busybox sh backup.sh` runs its applet `sh`.
            let words = parent == "busybox" ? arguments().dropFirst() : arguments()[...]
            let isShell = parent != "busybox" || words.first.map { shells.contains($0) } == true
            // A script in /dev is a pipe, as in `bash <(curl …)`, and has no name.
            if isShell, let script = script(in: words.dropFirst()),
                !script.hasPrefix("/dev/"), !script.hasSuffix("/"), case let name = FileSystem.name(of: script),
                !["", ".", ".."].contains(name)
            {
                return name
            }
        }
        if let parent, !parent.isEmpty, !runners.contains(String(parent.prefix { $0 != ":" && $0 != " " })) {
            return parent
        }
        let suffix = ".service"
        if let unit, unit.hasSuffix(suffix), unit.count > suffix.count, !unit.hasPrefix("user@") {
            return String(unit.dropLast(suffix.count))
        }
        return "issuectl"
    }

    /// Returns the first argument of a shell after its options, such as `-eu`, `-o errexit` or `-O extglob`; nil if
    /// there is none, or if the shell runs the commands of an argument (`-c`) or of its standard input (`-s`).
    private static func script(in arguments: ArraySlice<String>) -> String? {
        var rest = arguments
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") || word.hasPrefix("+") else { return word }
            if word == "-" || word == "--" { return rest.first }
            // A long option of bash. Two of them have a value.
            if word.hasPrefix("--") {
                if word == "--rcfile" || word == "--init-file" { _ = rest.popFirst() }
                continue
            }
            if word.contains("c") || word.contains("s") { return nil }
            if word.contains("o") || word.contains("O") { _ = rest.popFirst() }
        }
        return nil
    }

    static func ofThisProcess() -> String {
        // Read once, because it changes when the parent ends.
        let parentPID = CurrentProcess.parentPID
        let parent = (try? ProcessMetadata.read(pid: parentPID)) ?? nil
        let own = (try? ProcessMetadata.read(pid: CurrentProcess.pid)) ?? nil
        return name(
            parent: parent?.command, arguments: ProcessMetadata.firstArguments(of: parentPID), unit: own?.unit)
    }
}

/// Derives a producer's id from a key that the user chose.
package enum ReportID {
    /// Returns the key in lower case if it is a UUID, otherwise a UUID of version 8 that is derived from it.
    package static func producer(for key: String) -> String {
        let lowercase = key.lowercased()
        return isUUID(lowercase) ? lowercase : ProducerName.uuid(FNV1a.hash(key.utf8), version: 8)
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.joined().utf8.allSatisfy("0123456789abcdef".utf8.contains)
    }
}

/// The 128-bit FNV-1a hash (draft-eastlake-fnv).
///
/// It is not collision-resistant, but a user who creates a collision affects only their own reports.
private enum FNV1a {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt128 {
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
        var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
        return hash
    }
}

/// Splits standard input into lines. Buffers a line only up to a maximum size.
package struct LineReader {
    private let input: any CommandInput
    private let limit: Int
    private var rest: [UInt8] = []
    /// Whether the beginning of the current line was dropped because the line is too long.
    private var isOverflowing = false
    private var isAtEnd = false
    private var number = 0

    /// A line of the input. Numbers start at 1.
    package struct Line: Equatable {
        package var number: Int
        /// The bytes without the line break; nil if the line is too long.
        package var bytes: [UInt8]?
    }

    /// Creates a reader.
    ///
    /// - Parameter limit: The maximum size of a line, in bytes.
    package init(_ input: any CommandInput, limit: Int) {
        self.input = input
        self.limit = limit
    }

    /// Waits for input and returns the lines that it completes; an empty array if there are none, nil at the end.
    ///
    /// Lines are returned as soon as they are complete, so that a report from a slow pipe is not delayed.
    package mutating func next() -> [Line]? {
        guard !isAtEnd else { return nil }
        guard let piece = input.read() else {
            isAtEnd = true
            return rest.isEmpty && !isOverflowing ? nil : [finish()]
        }
        var lines: [Line] = []
        for part in piece.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 { lines.append(finish()) }
            guard !isOverflowing else { continue }
            rest += part.element
            if rest.count > limit {
                rest = []
                isOverflowing = true
            }
        }
        return lines
    }

    private mutating func finish() -> Line {
        defer {
            rest = []
            isOverflowing = false
        }
        number += 1
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        return Line(number: number, bytes: isOverflowing ? nil : rest)
    }
}

/// Parses `KEY=VALUE`. The value is JSON if it is valid JSON, otherwise a string.
package enum MetadataPair {
    /// Parses the pair. Returns nil if there is no equals sign or the key is empty.
    package static func member(_ text: String) -> JSONValue.Member? {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
        let value = String(text[text.index(after: equals)...])
        return JSONValue.Member(String(text[..<equals]), (try? JSONValue(json: value)) ?? .string(value))
    }
}

/// Parses a severity as written by users and by `logger`.
package enum SeverityWord {
    static let forms = IssueLevel.allCases.map(\.name)

    /// Returns the value of an option as a severity; nil if it was not given.
    static func value(
        of option: OptionSpecification, in arguments: ParsedArguments
    ) throws(UsageError) -> IssueLevel? {
        let expected =
            "\(forms.joined(separator: ", ")), a priority of logger such as err, notice or user.crit, or a number from "
            + "0 to 7"
        return try arguments.value(of: option, expected: expected, words: forms, severity)
    }

    /// Returns the severity for a text; nil if it is invalid.
    ///
    /// Accepts the five severities. So that `issuectl` can replace `logger` in scripts, it also accepts the severities
    /// of syslog: a number, or a name with or without a facility.
    package static func severity(_ text: String) -> IssueLevel? {
        let word = text.lowercased()
        if let severity = IssueLevel(name: word) { return severity }
        switch word {
        case "0", "1", "2": return .critical
        case "3": return .error
        case "4": return .warning
        case "5", "6": return .info
        case "7": return .debug
        default: break
        }
        switch word.split(separator: ".", maxSplits: 1).last {
        case "emerg", "panic", "alert", "crit", "critical", "fatal": return .critical
        case "err", "error": return .error
        case "warn", "warning": return .warning
        case "notice", "info": return .info
        case "debug": return .debug
        default: return nil
        }
    }
}

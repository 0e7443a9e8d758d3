package import IssueProtocol
import Issues

/// `issuectl report`: reports issues from scripts, as `logger` logs from them.
struct ReportCommand: Command {
    static let jsonLines = OptionSpecification(
        "json-lines", "Every line of standard input is a record in JSON; without this, those with a message are")
    static let quiet = OptionSpecification("quiet", short: "q", "Do not print the ids of what was stored")
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "How long to try for each call (default 10s)")
    static let spool = OptionSpecification(
        "spool", "Keep what no daemon takes in that time, for this user's next issuectl or reporting program to send")
    static let id = OptionSpecification(
        "id", value: "KEY", "Store nothing twice that was reported with the same KEY before")
    static let standardError = OptionSpecification("stderr", short: "s", "Print each message to standard error too")

    static let specification = CommandSpecification(
        "report", "Report issues, and print the ids under which they are stored", operands: .any("MESSAGE"),
        sections: [
            .init("What it is", ReportOptions.all),
            .init("How", [jsonLines, timeout, spool, id, quiet, standardError]),
        ],
        notes: [
            "Without a MESSAGE, each line of standard input is one. A line that can't be taken is named by its number; the others are taken, and the exit code is 1.",
            "An id is printed once the record is on disk. ISSUED_APP, ISSUED_VERSION and ISSUED_ENVIRONMENT stand in for options that are not given. An application without a name gets that of the calling script or service.",
            "Exits with 0 when all is stored or, with --spool, kept; with 69 when no daemon answers; with 75 when the time is over: it may be stored nevertheless, so try again with the --id that is named.",
        ],
        examples: [
            "issuectl report --app backup -p error \"No space left on /srv\"",
            "issuectl report --metadata attempt=3 --metadata host=db1 Retry failed",
            "issuectl report --spool --timeout 2s \"The backup failed\"",
            "make 2>&1 | grep error: | issuectl report -t nightly-build",
        ])

    private let arguments: ParsedArguments
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        self.arguments = arguments
        if arguments.has(Self.jsonLines), !arguments.operands.isEmpty {
            throw UsageError("--json-lines reads standard input, so no MESSAGE goes with it")
        }
        if let text = arguments[Self.timeout] {
            guard let duration = DurationExpression.duration(text) else {
                throw UsageError(text, of: Self.timeout, expected: DurationExpression.forms)
            }
            timeout = duration
        } else {
            timeout = .seconds(10)
        }
        if arguments[Self.id] == "" { throw UsageError("", of: Self.id, expected: "a text") }
        // Read once more when it runs, with the environment; what is wrong with it is said here.
        _ = try ReportOptions.template(arguments, variable: { _ in nil })
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let template: RecordTemplate
        do throws(UsageError) {
            template = try ReportOptions.template(arguments, variable: context.environment)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
        let key = arguments[Self.id]
        var session = ReportSession(
            context: context, template: template.named(context.reporting.caller),
            how: .init(
                isQuiet: arguments.has(Self.quiet), echoes: arguments.has(Self.standardError), timeout: timeout,
                spools: arguments.has(Self.spool),
                producer: key.map { ReportID.producer(for: $0) } ?? context.reporting.makeProducer(), key: key))
        try session.begin()
        if arguments.operands.isEmpty {
            try session.report(linesOf: context.input, areAllJSON: arguments.has(Self.jsonLines))
        } else {
            try session.report(message: arguments.operands.joined(separator: " "))
        }
        return session.finish()
    }
}

/// The options that describe what `report` reports.
enum ReportOptions {
    static let severity = OptionSpecification(
        "severity", short: "p", value: "LEVEL", "debug, info, warning, error or critical; the words of logger do too")
    static let domain = OptionSpecification("domain", value: "NAME", "The error's domain")
    static let code = OptionSpecification("code", value: "NUMBER", "The error's code")
    static let app = OptionSpecification("app", value: "NAME", "The application it comes from")
    static let tag = OptionSpecification("tag", short: "t", value: "NAME", "The same, as logger calls it")
    static let version = OptionSpecification("app-version", value: "VERSION", "The application's version")
    static let environment = OptionSpecification("environment", value: "NAME", "production, staging, ...")
    static let metadata = OptionSpecification(
        "metadata", short: "m", value: "KEY=VALUE", "More about it; the value is JSON, or else a text (repeatable)")
    static let fingerprint = OptionSpecification("fingerprint", value: "TEXT", "Put it into the group of this name")
    static let file = OptionSpecification("file", value: "FILE", "The source file it comes from")
    static let line = OptionSpecification("line", value: "NUMBER", "The line in that file")
    static let function = OptionSpecification("function", value: "NAME", "The function in that file")
    static let notReportable = OptionSpecification("not-reportable", "Keep and count it, but never forward it")

    static let all = [
        severity, domain, code, app, tag, version, environment, metadata, fingerprint, file, line, function,
        notReportable,
    ]

    /// The members that the options give to each record; the variables that the client library reads fill the gaps.
    static func template(
        _ arguments: ParsedArguments, variable: (String) -> String?
    ) throws(UsageError) -> RecordTemplate {
        func fallback(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        let application = object([
            ("name", text(arguments[app] ?? arguments[tag] ?? fallback("ISSUED_APP"))),
            ("version", text(arguments[version] ?? fallback("ISSUED_VERSION"))),
            ("environment", text(arguments[environment] ?? fallback("ISSUED_ENVIRONMENT"))),
        ])
        let source = object([
            ("file_id", text(arguments[file])),
            ("line", number(try arguments.integer(line, in: 0...Int64.max))),
            ("function", text(arguments[function])),
        ])
        let level = try arguments.choice(severity, among: SeverityWord.forms, SeverityWord.severity)
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

    private static func metadataObject(_ arguments: ParsedArguments) throws(UsageError) -> JSONValue? {
        var members: [JSONValue.Member] = []
        for text in arguments.all(metadata) ?? [] {
            guard let member = MetadataPair.member(text) else {
                throw UsageError(text, of: metadata, expected: "KEY=VALUE")
            }
            members.removeAll { $0.key == member.key }
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

/// What the options of `report` say about each record, put under what a line says itself.
struct RecordTemplate {
    /// The members of a record, in the words of the wire.
    private let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) {
        self.members = members
    }

    /// The application's name that a record from this template has.
    var app: String? {
        members.first { $0.key == "app" }?.value["name"]?.asString
    }

    /// The template for records of an application that has no other name.
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

    /// The record with what it does not say itself; metadata and application are completed member by member.
    func record(completing record: [JSONValue.Member]) -> JSONValue {
        var result = record
        for member in members {
            guard let index = result.lastIndex(where: { $0.key == member.key }), !result[index].value.isNull else {
                result.append(member)
                continue
            }
            guard case .object(let own) = result[index].value, case .object(let more) = member.value else { continue }
            let missing = more.filter { candidate in !own.contains { $0.key == candidate.key } }
            result[index].value = .object(own + missing)
        }
        return .object(result)
    }
}

/// Cuts what comes from standard input into lines, without ever holding more of one than a record may have.
package struct LineReader {
    private let input: any CommandInput
    private let limit: Int
    private var rest: [UInt8] = []
    /// Whether the start of the current line was thrown away because it is too long.
    private var isOverflowing = false
    private var isAtEnd = false
    private var number = 0

    /// One line of the input, by its number from 1 on.
    package struct Line: Equatable {
        package var number: Int
        /// Its bytes without the line feed; nothing when it is too long.
        package var bytes: [UInt8]?

        package init(number: Int, bytes: [UInt8]?) {
            self.number = number
            self.bytes = bytes
        }
    }

    package init(_ input: any CommandInput, limit: Int) {
        self.input = input
        self.limit = limit
    }

    /// The lines that the next piece of input completes, which may be none; nothing at the end.
    ///
    /// Lines are handed on as soon as they are there, so that a report from a
    /// slow pipe does not wait for the next one.
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

/// `KEY=VALUE`, the value as JSON where it is JSON, else as the text that it is.
package enum MetadataPair {
    package static func member(_ text: String) -> JSONValue.Member? {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
        let value = String(text[text.index(after: equals)...])
        return JSONValue.Member(String(text[..<equals]), (try? JSONValue(json: value)) ?? .string(value))
    }
}

/// A severity as people and `logger` write it.
package enum SeverityWord {
    static let forms = Severity.allCases.map(\.name)

    /// Our five words, or those of syslog with or without a facility, so that a script may put us in place of `logger`.
    package static func severity(_ text: String) -> Severity? {
        let word = text.lowercased()
        if let severity = Severity(name: word) { return severity }
        switch word.split(separator: ".", maxSplits: 1).last {
        case "emerg", "panic", "alert", "crit", "critical": return .critical
        case "err", "error": return .error
        case "warn", "warning": return .warning
        case "notice", "info": return .info
        case "debug": return .debug
        default: return nil
        }
    }
}

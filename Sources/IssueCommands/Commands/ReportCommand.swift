import IssueProtocol
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

import IssueProtocol

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

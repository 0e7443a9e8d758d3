import IssueProtocol

/// The options that choose among issues, alike for groups and for records.
enum FilterOptions {
    static let app = OptionSpecification("app", value: "NAME", "Of this application (repeatable)")
    static let version = OptionSpecification(
        "version", value: "VERSION", "Of this version of an application (repeatable)")
    static let environment = OptionSpecification("environment", value: "NAME", "From this environment (repeatable)")
    static let severity = OptionSpecification(
        "severity", short: "p", value: "LEVEL", "This bad or worse: debug, info, warning, error or critical")
    static let domain = OptionSpecification("domain", value: "NAME", "Of this error domain (repeatable)")
    static let code = OptionSpecification("code", value: "NUMBER", "With this error code (repeatable)")
    static let file = OptionSpecification("file", value: "FILE", "From this source file (repeatable)")
    static let text = OptionSpecification("text", value: "TEXT", "With this text in it")
    static let group = OptionSpecification("group", value: "ID", "Of this group (repeatable)")
    static let user = OptionSpecification("user", value: "UID", "Reported by this user, by number (repeatable)")
    static let unit = OptionSpecification(
        "unit", short: "u", value: "UNIT", "Reported by this systemd unit (repeatable)")
    static let state = OptionSpecification("state", value: "STATE", "open, resolved or muted (repeatable)")
    static let since = OptionSpecification("since", short: "S", value: "TIME", "Not older than this")
    static let until = OptionSpecification("until", short: "U", value: "TIME", "Not newer than this")
    static let fate = OptionSpecification(
        "fate", value: "FATE", "With this fate: \(Fate.allCases.map(\.name).joined(separator: ", ")) (repeatable)")
    static let destination = OptionSpecification("destination", value: "NAME", "The destination whose fates count")

    static let all = [
        app, version, environment, severity, domain, code, file, text, group, user, unit, state, since, until,
    ]
    static let ofRecords = all + [fate, destination]
    static let timeNote = "A TIME is \(TimeExpression.forms). Days begin at midnight UTC."

    static func filter(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) -> IssueFilter? {
        var filter = IssueFilter()
        filter.apps = arguments.all(app)
        filter.versions = arguments.all(version)
        filter.environments = arguments.all(environment)
        filter.severity = try arguments.choice(severity, among: SeverityWord.forms, SeverityWord.severity)
        filter.domains = arguments.all(domain)
        filter.codes = try each(code, in: arguments, expected: "a whole number") { Int64($0) }
        filter.files = arguments.all(file)
        filter.text = arguments[text]
        filter.groups = arguments.all(group)
        filter.users = try each(user, in: arguments, expected: "the number of a user") { UInt32($0) }
        filter.units = arguments.all(unit)
        filter.states = try each(state, in: arguments, words: GroupState.allCases.map(\.name), GroupState.init(name:))
        filter.fates = try each(fate, in: arguments, words: Fate.allCases.map(\.name)) {
            // As tables print it, too.
            Fate(name: $0.replacing("-", with: "_"))
        }
        filter.destination = arguments[destination]
        filter.since = try moment(since, in: arguments, at: now)
        filter.until = try moment(until, in: arguments, at: now)
        return filter == IssueFilter() ? nil : filter
    }

    private static func moment(
        _ option: OptionSpecification, in arguments: ParsedArguments, at now: Timestamp
    ) throws(UsageError) -> Timestamp? {
        guard let text = arguments[option] else { return nil }
        guard let moment = TimeExpression.moment(text, now: now) else {
            throw UsageError(text, of: option, expected: TimeExpression.forms)
        }
        return moment
    }

    private static func each<Value>(
        _ option: OptionSpecification, in arguments: ParsedArguments, expected: String, _ make: (String) -> Value?
    ) throws(UsageError) -> [Value]? {
        guard let texts = arguments.all(option) else { return nil }
        var values: [Value] = []
        for text in texts {
            guard let value = make(text) else { throw UsageError(text, of: option, expected: expected) }
            values.append(value)
        }
        return values
    }

    private static func each<Value>(
        _ option: OptionSpecification, in arguments: ParsedArguments, words: [String], _ make: (String) -> Value?
    ) throws(UsageError) -> [Value]? {
        guard let texts = arguments.all(option) else { return nil }
        var values: [Value] = []
        for text in texts {
            guard let value = make(text) else { throw UsageError(text, of: option, words: words) }
            values.append(value)
        }
        return values
    }
}

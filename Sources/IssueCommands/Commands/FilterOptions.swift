import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// The options that select groups or records.
enum FilterOptions {
    static let app = OptionSpecification(
        "app", value: "NAME", from: .applications, "Only this application (repeatable)")
    static let version = OptionSpecification(
        "version", value: "VERSION", "Only this application version (repeatable)")
    static let environment = OptionSpecification("environment", value: "NAME", "Only this environment (repeatable)")
    static let severity = OptionSpecification(
        "severity", short: "p", value: "LEVEL", from: .words(SeverityWord.forms),
        "Only LEVEL and above: debug, info, warning, error or critical")
    static let domain = OptionSpecification("domain", value: "NAME", "Only this error domain (repeatable)")
    static let code = OptionSpecification("code", value: "NUMBER", "Only this error code (repeatable)")
    static let file = OptionSpecification("file", value: "FILE", from: .files, "Only this source file (repeatable)")
    static let text = OptionSpecification(
        "text", value: "TEXT", "Only with all words and \"quoted phrases\" of TEXT")
    static let metadata = OptionSpecification(
        "metadata", value: "KEY=VALUE", "Only this metadata; nested keys as a.b (repeatable)")
    static let group = OptionSpecification("group", value: "ID", from: .groups, "Only this group (repeatable)")
    static let user = OptionSpecification("user", value: "USER", "Only this user, by id or name (repeatable)")
    static let unit = OptionSpecification(
        "unit", short: "u", value: "UNIT", "Only this systemd unit (repeatable)")
    static let trace = OptionSpecification("trace", value: "TRACE", "Only this trace id (repeatable)")
    static let request = OptionSpecification("request", value: "REQUEST", "Only this request id (repeatable)")
    static let endUser = OptionSpecification(
        "end-user", value: "USER", "Only this user of the application (repeatable)")
    static let state = OptionSpecification(
        "state", value: "STATE", from: .words(GroupState.allCases.map(\.rawValue)),
        "Only this state: open, resolved or muted (repeatable)")
    static let since = OptionSpecification("since", short: "S", value: "TIME", "Not older than TIME")
    static let until = OptionSpecification("until", short: "U", value: "TIME", "Not newer than TIME")
    static let fate = OptionSpecification(
        "fate", value: "FATE", from: .words(IssueFate.Outcome.allCases.map(\.name)),
        "Only this fate: \(IssueFate.Outcome.allCases.map(\.name).joined(separator: ", ")) (repeatable)")
    static let destination = OptionSpecification(
        "destination", value: "NAME", from: .destinations, "With --fate, only the fate at this destination")

    /// The options by the names of their members in a filter on the wire.
    private static let byMember: KeyValuePairs = [
        "apps": app, "versions": version, "environments": environment, "severity": severity, "domains": domain,
        "codes": code, "files": file, "text": text, "metadata": metadata, "groups": group, "users": user,
        "units": unit, "trace_ids": trace, "request_ids": request, "end_users": endUser, "states": state,
        "since": since, "until": until,
    ]
    /// The same for the options that apply only to single records.
    private static let ofRecordsByMember: KeyValuePairs = ["fates": fate, "destination": destination]
    static let all = byMember.map(\.value)
    static let ofRecords = all + ofRecordsByMember.map(\.value)
    static let timeNote = "TIME is \(TimeExpression.forms). Times are UTC unless they have an offset."

    static let appForms = "the name of an application"
    static let userForms = "a user id or the name of a user of this host"

    /// Returns the option for a member of a filter on the wire; nil if there is none.
    static func option(forMember name: String) -> OptionSpecification? {
        (byMember.first { $0.key == name } ?? ofRecordsByMember.first { $0.key == name })?.value
    }

    /// Returns the user id for an id or a name; nil if no user has the name.
    static func userID(_ text: String) -> UInt32? { UInt32(text) ?? UserDatabase.userID(named: text) }

    /// Returns the full name of a unit. As in `systemctl`, a name without a known suffix is that of a service. A name
    /// that ends with `*` is not changed.
    static func unitName(_ text: String) -> String {
        let suffixes = [
            "service", "scope", "slice", "socket", "timer", "mount", "automount", "swap", "path", "target", "device",
        ]
        let suffix = text.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last ?? ""
        return text.isEmpty || text.hasSuffix("*") || suffixes.contains { $0 == suffix } ? text : text + ".service"
    }

    /// Returns the filter of the options; nil if none of them was given.
    static func filter(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) -> IssueFilter? {
        // If only the last value counted, more would be erased or merged than the user expects.
        for option in [severity, text, destination, since, until] { _ = try arguments.single(option) }
        var filter = IssueFilter()
        filter.apps = try arguments.values(of: app, expected: appForms) { $0.isEmpty ? nil : $0 }
        filter.versions = arguments.all(version)
        filter.environments = arguments.all(environment)
        filter.level = try SeverityWord.value(of: severity, in: arguments)
        filter.domains = arguments.all(domain)
        let wrongCode = arguments.all(code)?.first { Int($0) == nil } ?? ""
        filter.codes = try arguments.values(
            of: code, expected: ParsedArguments.wholeNumber(in: Int64.min...Int64.max, insteadOf: wrongCode)
        ) { Int($0) }
        filter.files = arguments.all(file)
        filter.text = arguments[text]
        filter.metadata = try arguments.values(of: metadata, expected: "KEY=VALUE") { entry in
            entry.utf8.dropFirst().contains(UInt8(ascii: "=")) && !entry.hasPrefix("=") ? entry : nil
        }
        filter.groups = arguments.all(group)
        try AbbreviatedID.check(filter.groups ?? [])
        filter.users = try arguments.values(of: user, expected: userForms, userID)
        filter.units = arguments.all(unit)?.map(unitName)
        filter.traceIDs = try arguments.values(of: trace, expected: "32 hexadecimal digits") {
            IssueContext.Field.traceID.normalized($0)
        }
        filter.requestIDs = arguments.all(request)
        filter.endUsers = arguments.all(endUser)
        filter.states = try arguments.values(
            of: state, expected: nil, words: GroupState.allCases.map(\.name), GroupState.init(name:))
        filter.outcomes = try arguments.values(of: fate, expected: nil, words: IssueFate.Outcome.allCases.map(\.name)) {
            // Also accepts `dead-lettered`, the form in tables.
            IssueFate.Outcome(name: $0.replacing("-", with: "_"))
        }
        filter.destination = arguments[destination]
        if filter.destination != nil, filter.outcomes == nil { throw UsageError("--destination needs --fate") }
        func moment(_ option: OptionSpecification) throws(UsageError) -> IssueTimestamp? {
            try arguments.value(of: option, expected: TimeExpression.forms) { TimeExpression.moment($0, now: now) }
        }
        filter.since = try moment(since)
        filter.until = try moment(until)
        if let start = filter.since {
            guard start <= now else {
                throw UsageError("--since is in the future: \(start) (times are UTC unless they have an offset)")
            }
            if let end = filter.until, end < start {
                throw UsageError("--until (\(end)) is before --since (\(start))")
            }
        }
        return filter == IssueFilter() ? nil : filter
    }
}

/// A reply with a page of results.
protocol PagedReply: JSONCodable {
    /// The member that holds the results.
    static var member: String { get }
    /// The position of the next page; nil on the last one.
    var next: String? { get }
    /// The number of records that the page leaves out because they can't be read; nil if there are none, or if the
    /// daemon does not report it.
    var unreadable: Int64? { get }
}

extension PagedReply {
    var unreadable: Int64? { nil }
}

extension ListReply: PagedReply { static let member = "groups" }
extension RecordsReply: PagedReply { static let member = "records" }
extension DeploymentsReply: PagedReply { static let member = "deployments" }
extension DeadLettersReply: PagedReply { static let member = "dead_letters" }

extension BrowserSession {
    /// Fetches page by page. If the daemon is busy, tries again for a few seconds.
    ///
    /// - Parameters:
    ///   - call: The call that returns a page.
    ///   - parameters: Returns the parameters of the call. Takes the `next` of the previous page; nil for the first.
    ///   - receive: Receives each page. Returns `false` to stop.
    func eachPage<Parameters, Reply: PagedReply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: (_ after: String?) -> Parameters,
        receive: (BrowserReply<Reply>) throws(Failure) -> Bool
    ) throws(Failure) {
        var next: String?
        repeat {
            let answer = try self.call(
                call, parameters(next), repeatingAfter: [.seconds(1), .seconds(2), .seconds(4)])
            guard try receive(answer) else { return }
            next = answer.value.next
        } while next != nil
    }
}

/// The options for the number and order of results, which are fetched page by page.
struct PagingOptions {
    static let order = OptionSpecification(
        "order", value: "ORDER", from: .words(ResultOrder.allCases.map(\.rawValue)),
        "newest (default), oldest, most (most frequent) or worst (highest severity) first")
    /// Single records can only be sorted by time.
    static let recordOrder = OptionSpecification(
        "order", value: "ORDER", from: .words(["newest", "oldest"]), "newest (default) or oldest first")
    static let limit = OptionSpecification(
        "limit", short: "n", value: "NUMBER", "Maximum number of results (default: what fits on the screen, or 50)")
    static let all = OptionSpecification("all", short: "a", "Show all results")

    static let options = [order, limit, all]
    static let recordOptions = [recordOrder, limit, all]

    /// The maximum number of results in a requested page.
    static let pageSize: Int64 = 500

    /// The order of the results; nil for the daemon's default, newest first.
    var order: ResultOrder?
    /// The maximum number of results (`--limit`); nil if the user set no limit.
    var limit: Int64?
    /// Whether to show all results.
    var isAll: Bool
}

extension PagingOptions {
    init(_ arguments: ParsedArguments, orders: [ResultOrder] = ResultOrder.allCases) throws(UsageError) {
        order = try arguments.choice(Self.order, among: orders)
        limit = try arguments.integer(Self.limit, in: 1...Int64.max)
        isAll = arguments.has(Self.all)
        if isAll, limit != nil { throw UsageError("--all and --limit cannot be used together") }
    }

    /// Fetches results page by page and prints them in the requested format.
    ///
    /// - Parameters:
    ///   - call: The call that returns a page.
    ///   - columns: The columns of the table.
    ///   - empty: The line for users if there are no results.
    ///   - parameters: Returns the parameters of the call. `after` is the `next` of the previous page; nil for the
    ///     first.
    ///   - rows: Returns the results as rows of the table. Called only if a table is printed.
    func print<Parameters, Reply: PagedReply>(
        _ call: CollectorCall<Parameters, Reply>, _ columns: [Column], empty: String, in context: CommandContext,
        parameters: (_ limit: Int, _ after: String?) -> Parameters, rows: (Reply) -> [[Cell]]
    ) throws(CommandFailure) {
        let count = isAll ? nil : limit ?? Int64(context.terminal.tableRows(context.environment))
        var table = context.table(columns)
        var shown: Int64 = 0
        var next: String?
        // The results for `--json`. They are printed at the end, since a JSON document must not be incomplete.
        var document: [[UInt8]] = []
        var leftOut: Int64 = 0
        try context.collector().eachPage(call) { after in
            parameters(Int(min(Self.pageSize, count.map { $0 - shown } ?? Self.pageSize)), after)
        } receive: { answer throws(CommandFailure) in
            let elements = answer.elements(of: Reply.member)
            shown += Int64(elements.count)
            // After searching many records, the daemon may return an empty page although more pages follow.
            next = answer.value.next
            leftOut += answer.value.unreadable ?? 0
            switch context.format {
            case .human:
                let rows = rows(answer.value)
                if !rows.isEmpty { try context.print(table.lines(rows)) }
            case .lines: for element in elements { try context.print(json: element) }
            case .json: document += elements
            }
            return count.map { shown < $0 } ?? true
        }

        switch context.format {
        case .human:
            if shown == 0 {
                try context.print(empty)
                if let hint = Self.rightsHint(in: context) { context.warn(hint) }
            }
        case .lines: break
        case .json:
            try context.print(
                json: PrettyJSON.document(Reply.member, document, hasMore: next != nil, unreadable: leftOut))
        }
        if leftOut > 0 {
            context.warn(
                "\(Quantity.text(leftOut, "record")) left out because their blocks are damaged: see issuectl doctor")
        }
        // This note goes to standard error, so that programs do not take it for a result. Users who chose the limit
        // need no note.
        if next != nil, limit == nil { context.warn("more results: use --limit or --all") }
    }

    /// Returns a hint for users who do not see the records of all users; nil for other users, if the call fails, or if
    /// the daemon's database is not open.
    static func rightsHint(in context: CommandContext) -> String? {
        guard let store = try? context.collector().call(CollectorCalls.status).value.store, !store.id.isEmpty,
            store.bytes == nil
        else { return nil }
        return
            "you see only the records of your own user (none for the user nobody and for dynamic users): only root, the "
            + "daemon's user and the groups in Operators= and Readers= (issued.conf) see all"
    }
}

/// Completes abbreviated ids of groups, such as `g92c9`.
enum AbbreviatedID {
    /// The minimum number of digits. A mistyped id with fewer digits would often match another group.
    private static let minDigits = 4
    private static let pageSize = 500
    /// The maximum number of pages of groups that are searched.
    private static let maxPages = 20

    /// Calls the daemon with an id. If the daemon refuses an abbreviated id, and exactly one of the searched groups has
    /// an id that begins with it, calls the daemon again with the whole id.
    ///
    /// - Throws: The failure of the call. If the ids of several groups begin with an abbreviated id that the daemon
    ///   refused, a failure that lists up to three of the ids.
    static func call<Reply>(
        _ id: String, _ collector: Collector, _ request: (String) throws(CommandFailure) -> Reply
    ) throws(CommandFailure) -> Reply {
        do throws(CommandFailure) {
            return try request(id)
        } catch {
            guard error.code == .refused, isBeginning(id) else { throw failure(error, [id]) }
            guard let whole = try whole(id, collector) else { throw error }
            return try request(whole)
        }
    }

    /// Returns the ids with all abbreviated ones completed. Calls the daemon only if an id is abbreviated.
    ///
    /// - Throws: `CommandFailure` if no id or several ids of the searched groups begin with an abbreviated id, or if a
    ///   call fails.
    static func completed(_ ids: [String], in context: CommandContext) throws(CommandFailure) -> [String] {
        guard ids.contains(where: { isBeginning($0) }) else { return ids }
        let collector = try context.collector()
        var completed: [String] = []
        for id in ids {
            guard isBeginning(id) else {
                completed.append(id)
                continue
            }
            guard let whole = try whole(id, collector) else { throw notFound(id) }
            completed.append(whole)
        }
        return completed
    }

    /// Returns the filter with all abbreviated ids of groups completed, like the function above.
    static func completed(_ filter: IssueFilter?, in context: CommandContext) throws(CommandFailure) -> IssueFilter? {
        guard let groups = filter?.groups else { return filter }
        var wholeFilter = filter
        wholeFilter?.groups = try completed(groups, in: context)
        return wholeFilter
    }

    /// Returns the failure of a command with these ids. If the daemon did not find an id because it is too short, the
    /// message says so.
    static func failure(_ failure: CommandFailure, _ ids: [String]) -> CommandFailure {
        guard let id = ids.first(where: { isTooShort($0) && failure == notFound($0) }) else { return failure }
        return CommandFailure(.refused, tooShort(id))
    }

    /// Throws for the first id that is neither a whole group id nor an abbreviated one with enough digits.
    static func check(_ ids: [String]) throws(UsageError) {
        for id in ids where !IssueGroup.isID(id) && !isBeginning(id) {
            throw UsageError(isTooShort(id) ? tooShort(id) : "\"\(id)\" is not a group id")
        }
    }

    /// Returns the error message for an abbreviated id with too few digits.
    static func tooShort(_ id: String) -> String {
        "'\(id)' is too short: give at least \(minDigits) digits after the g"
    }

    /// Returns `true` for an abbreviated group id that has enough digits.
    static func isBeginning(_ id: String) -> Bool { isBeginning(id, digits: minDigits..<16) }

    static func isTooShort(_ id: String) -> Bool { isBeginning(id, digits: 1..<minDigits) }

    private static func notFound(_ id: String) -> CommandFailure {
        CommandFailure(CollectorConnectionError.refused(.notFound(id: id)))
    }

    /// Returns the id of the only group whose id begins with `id`, among the groups that are searched; nil if there is
    /// none. Throws if there are several.
    private static func whole(_ id: String, _ collector: Collector) throws(CommandFailure) -> String? {
        let found = try groups(id, collector)
        guard found.count > 1 else { return found.first }
        let shown = found.prefix(3).joined(separator: ", ") + (found.count > 3 ? ", …" : "")
        throw CommandFailure(.refused, "the ids of \(Quantity.text(found.count, "issue")) begin with '\(id)': \(shown)")
    }

    /// Returns `true` for a `g` and lowercase hexadecimal digits, if the number of digits is in `counts`.
    static func isBeginning(_ id: String, digits counts: Range<Int>) -> Bool {
        let digits = id.utf8.dropFirst()
        return id.hasPrefix("g") && counts.contains(digits.count)
            && digits.allSatisfy("0123456789abcdef".utf8.contains)
    }

    /// Returns the ids that begin with `id` among those of the most recently active groups, at most 10,000.
    private static func groups(_ id: String, _ collector: Collector) throws(CommandFailure) -> [String] {
        var (found, pages): ([String], Int) = ([], 0)
        try collector.eachPage(CollectorCalls.list) {
            ListParameters(limit: pageSize, after: $0)
        } receive: { page in
            found += page.value.groups.map(\.id).filter { $0.hasPrefix(id) }
            pages += 1
            return pages < maxPages
        }
        return found
    }
}

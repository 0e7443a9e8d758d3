import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl group`: corrects the grouping of existing and future records.
struct GroupCommand: Command {
    private enum Action: String, CaseIterable {
        case merge, split, rule, undo, suggest
    }

    private enum RuleAction: String, CaseIterable {
        case list, add, remove
    }

    static let template = OptionSpecification(
        "template", value: "PATTERN", "Pattern for the titles; * matches any text")
    static let reason = OptionSpecification("reason", value: "TEXT", "The reason, which is shown with the correction")
    static let dryRun = OptionSpecification("dry-run", short: "n", "Only count the issues; merge nothing")
    static let yes = OptionSpecification("yes", short: "y", "Merge more than 50 issues without confirmation")
    static let limit = OptionSpecification("limit", value: "COUNT", "Maximum number of suggestions")

    static let specification = CommandSpecification(
        name: "group", summary: "Correct the grouping: merge and split issues",
        operands: .any("merge|split|rule|undo|suggest] [ARGUMENT"),
        operandSources: [.words(Action.allCases.map(\.rawValue)), .groups],
        sections: [
            ("Correction", [template, reason, dryRun, yes]), ("Filter of merge", FilterOptions.all),
            ("Suggestions", [limit]),
        ],
        notes: [
            "merge GROUP GROUP... merges issues of one application into the first one; merge GROUP with a filter merges "
                + "those that match, prints their number, and needs --yes for more than 50. split GROUP --template "
                + "PATTERN gives the records whose title matches an issue of their own; split GROUP undoes the merges into "
                + "it. rule lists corrections; rule add GROUP --template PATTERN merges all issues whose title matches, "
                + "also future ones; rule remove NUMBER and undo NUMBER undo a correction. suggest lists pairs of issues "
                + "whose titles differ in one word.",
            "Corrections also apply to future records and can be undone. The ids of merged issues remain valid.",
            FilterOptions.timeNote,
        ],
        examples: [
            "issuectl group merge g92c9da597585468b g0b5c7d1e2f3a4b5c --reason 'same cause'",
            "issuectl group split g92c9da597585468b --template 'Invalid user * from <address>'",
            "issuectl group rule add g92c9da597585468b --template 'Invalid user *'", "issuectl group undo 7",
        ])

    /// The number of groups that a filter merges without `--yes`.
    private static let maxUnconfirmed = 50
    /// The number of groups in one call, as the daemon limits it.
    private static let groupsPerCall = 256

    private let action: Action
    private let ruleAction: RuleAction
    private let ids: [String]
    private let pattern: String?
    private let reasonText: String?
    private let isDryRun: Bool
    private let isSure: Bool
    private let filter: IssueFilter?
    private let limit: Int64?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        guard let word = arguments.operands.first else {
            throw UsageError("missing action; expected one of: \(Self.words(Action.self))")
        }
        guard let action = Action(rawValue: word) else {
            throw UsageError("unknown action '\(word)'; expected one of: \(Self.words(Action.self))")
        }
        self.action = action
        var rest = arguments.operands.dropFirst()
        var ruleAction = RuleAction.list
        if action == .rule, let word = rest.popFirst() {
            guard let named = RuleAction(rawValue: word) else {
                throw UsageError("unknown action 'rule \(word)'; expected one of: \(Self.words(RuleAction.self))")
            }
            ruleAction = named
        }
        self.ruleAction = ruleAction
        ids = Array(rest)
        pattern = arguments[Self.template]
        reasonText = arguments[Self.reason]
        isDryRun = arguments.has(Self.dryRun)
        isSure = arguments.has(Self.yes)
        filter = try FilterOptions.filter(arguments, at: now)
        limit = try arguments.integer(Self.limit, in: 1...200)
        try check()
    }

    private static func words<Words: CaseIterable & RawRepresentable<String>>(_: Words.Type) -> String {
        Words.allCases.map(\.rawValue).joined(separator: ", ")
    }

    /// Checks that the arguments suit the action.
    private func check() throws(UsageError) {
        let isAdding = action == .rule && ruleAction == .add
        let isUndoing = action == .undo || action == .rule && ruleAction == .remove
        if pattern != nil, action != .split, !isAdding {
            throw UsageError("--template is only for split and rule add")
        }
        if isDryRun, action != .merge, !isAdding { throw UsageError("--dry-run is only for merge and rule add") }
        if let filter, action != .merge, !(action == .suggest && filter.isOnlyApplications) {
            throw UsageError("a filter is only for merge")
        }
        switch action {
        case .merge:
            if ids.isEmpty { throw UsageError("missing argument GROUP") }
            if ids.count == 1, filter == nil { throw UsageError("give further groups or a filter") }
            if ids.count > 1, filter != nil { throw UsageError("further groups and a filter cannot be used together") }
        case .split: try expect(1...1, "GROUP")
        case .rule where isAdding:
            try expect(1...1, "GROUP")
            if pattern == nil { throw UsageError("missing option --template") }
        case .rule where ruleAction == .list: try expect(0...1, "GROUP")
        case .rule, .undo: try expect(1...1, "NUMBER")
        case .suggest: try expect(0...0, "GROUP")
        }
        if isUndoing, number == nil { throw UsageError("'\(ids.first ?? "")' is not the number of a correction") }
    }

    private func expect(_ counts: ClosedRange<Int>, _ name: String) throws(UsageError) {
        if ids.count < counts.lowerBound { throw UsageError("missing argument \(name)") }
        if ids.count > counts.upperBound { throw UsageError("unexpected argument '\(ids[counts.upperBound])'") }
    }

    private var number: Int64? { ids.first.flatMap { Int64($0) } }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        switch (action, ruleAction) {
        case (.merge, _): return try merge(in: context)
        case (.split, _):
            let answer = try context.collector().splitGroup(
                SplitGroupParameters(group: ids[0], template: pattern, reason: reasonText))
            try context.print(answer, elements: "groups") { groups($0.groups) }
        case (.rule, .add): return try addRule(in: context)
        case (.rule, .list):
            let answer = try context.collector().corrections(CorrectionsParameters(group: ids.first))
            try context.print(answer, elements: "corrections") { reply in
                reply.corrections.isEmpty
                    ? ["No corrections."]
                    : reply.corrections.map { CorrectionText.line($0, now: context.now) }
            }
        case (.rule, .remove), (.undo, _):
            let missing = "no correction \(ids[0]): see issuectl group rule"
            let answer = try context.collector(notFound: missing).undoCorrection(number ?? 0)
            try context.print(answer, elements: "groups") { groups($0.groups) }
        case (.suggest, _): try suggest(in: context)
        }
        return .success
    }

    private func groups(_ groups: [IssueGroup]) -> [String] {
        groups.map { group in
            TerminalSanitizer.line("\(group.id) has \(Quantity.text(group.records, "record")): \(group.title)")
        }
    }

    // MARK: Merging

    private func merge(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        var others = Array(ids.dropFirst())
        if let filter {
            // The id may be that of a group that was merged into another one.
            let target = try collector.show(ids[0]).value.group.id
            others = try matching(filter, collector).filter { $0 != target }
            if context.format == .human { try context.print("Matches \(Quantity.text(others.count, "issue")).") }
            guard !others.isEmpty, !isDryRun else { return .success }
            guard try isConfirmed(others.count, context) else {
                throw CommandFailure(.refused, "nothing was merged")
            }
        } else if isDryRun {
            try context.print("\(Quantity.text(others.count, "issue")) would be merged.")
            return .success
        }
        var merged: Int64 = 0
        while !others.isEmpty {
            let some = Array(others.prefix(Self.groupsPerCall))
            others.removeFirst(some.count)
            let answer = try collector.mergeGroups(
                MergeGroupsParameters(into: ids[0], groups: some, reason: reasonText))
            merged += answer.value.count
            guard others.isEmpty else { continue }
            try context.print(answer) { [Self.line($0.group, merged: merged)] }
        }
        return .success
    }

    private func matching(_ filter: IssueFilter, _ collector: Collector) throws(CommandFailure) -> [String] {
        var found: [String] = []
        var next: String?
        repeat {
            let page = try collector.list(ListParameters(filter: filter, order: .newest, limit: 500, after: next)).value
            found += page.groups.map(\.id)
            next = page.next
        } while next != nil
        return found
    }

    /// Asks for confirmation if a correction merges more than 50 groups.
    private func isConfirmed(_ count: Int, _ context: CommandContext) throws(CommandFailure) -> Bool {
        guard count > Self.maxUnconfirmed, !isSure else { return true }
        guard context.terminal.isTerminal, context.format == .human else {
            throw CommandFailure(
                .refused, "\(count) issues match: use --yes to merge more than \(Self.maxUnconfirmed)")
        }
        return try context.confirm("Merge \(count) issues?")
    }

    private static func line(_ group: IssueGroup, merged: Int64) -> String {
        TerminalSanitizer.line(
            "Merged \(Quantity.text(merged, "issue")) into \(group.id) "
                + "(\(Quantity.text(group.records, "record"))): \(group.title)")
    }

    private func addRule(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let collector = try context.collector()
        let template = pattern ?? ""
        let count = try collector.addGroupRule(
            AddGroupRuleParameters(group: ids[0], template: template, isDryRun: true))
        if context.format == .human {
            try context.print("Matches \(Quantity.text(count.value.count, "issue")).")
        }
        if isDryRun { return .success }
        guard try isConfirmed(Int(clamping: count.value.count), context) else {
            throw CommandFailure(.refused, "no rule was added")
        }
        let answer = try collector.addGroupRule(
            AddGroupRuleParameters(group: ids[0], template: template, reason: reasonText))
        try context.print(answer) { [Self.line($0.group, merged: $0.count)] }
        return .success
    }

    // MARK: Suggestions

    private func suggest(in context: CommandContext) throws(CommandFailure) {
        let answer = try context.collector().suggestMerges(
            SuggestMergesParameters(app: filter?.apps?.first, limit: limit.map { Int($0) }))
        try context.print(answer, elements: "suggestions") { reply in
            guard !reply.suggestions.isEmpty else { return ["No suggestions."] }
            var page = TextPage(painter: context.painter)
            for suggestion in reply.suggestions {
                page.heading("issuectl group merge \(suggestion.groups.joined(separator: " "))")
                page.fields(
                    [("App", suggestion.app)] + zip(suggestion.groups, suggestion.titles).map { ($0, $1) }
                        + [("Differ in", suggestion.words.joined(separator: " / "))])
            }
            return page.lines
        }
    }
}

extension IssueFilter {
    /// `true` if the filter selects applications and nothing else.
    fileprivate var isOnlyApplications: Bool {
        var only = IssueFilter()
        only.apps = apps
        return self == only && apps?.count == 1
    }
}

/// The text form of corrections.
enum CorrectionText {
    /// A line such as `7  merged g1 into g2, by user 1000 3 min ago, 2 hits: same cause`.
    static func line(_ correction: GroupCorrection, now: IssueTimestamp) -> String {
        var text = "\(correction.id)  "
        let (other, template) = (correction.other ?? "", correction.template ?? "")
        switch correction.kind {
        case .merge: text += "merged \(other) into \(correction.group)"
        case .split: text += "split '\(template)' from \(other) into \(correction.group)"
        case .rule: text += "rule: '\(template)' belongs to \(correction.group)"
        }
        text += " in \(correction.app), by user \(correction.author) \(RelativeTime.text(correction.at, now: now))"
        text += ", \(Quantity.text(correction.hits, "hit"))"
        if let reason = correction.reason { text += ": \(reason)" }
        return TerminalSanitizer.line(text)
    }
}

import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl group`: corrects the grouping of existing and future records.
struct GroupCommand: Command {
    enum Action: String, CaseIterable {
        case merge, split, rule, undo, suggest
    }

    private enum RuleAction: String, CaseIterable {
        case list, add, remove
    }

    static let template = OptionSpecification(
        "template", value: "PATTERN", "Pattern for the titles; * matches any text")
    static let reason = OptionSpecification("reason", value: "TEXT", "The reason, which is shown with the correction")
    static let by = OptionSpecification(
        "by", value: "FIELD", from: .words(IssueSplitField.allCases.map(\.rawValue)),
        "Split by the values of a field: \(IssueSplitField.allCases.map(\.rawValue).joined(separator: ", "))")
    static let dryRun = OptionSpecification("dry-run", short: "n", "Only count the issues; change nothing")
    static let yes = OptionSpecification(
        "yes", short: "y", "Merge, or split into, more than 50 issues without confirmation")
    static let limit = OptionSpecification("limit", value: "NUMBER", "Maximum number of suggestions")

    static let specification = CommandSpecification(
        name: "group", summary: "Correct the grouping: merge and split issues",
        operands: .any("merge|split|rule|undo|suggest] [ARGUMENT"),
        operandSources: [.words(Action.allCases.map(\.rawValue)), .groups],
        sourcesByAction: [
            "rule": .words(RuleAction.allCases.map(\.rawValue)), "rule list": .groups, "rule add": .groups,
            "rule remove": .corrections, "undo": .corrections, "suggest": .text,
        ],
        sections: [
            ("Correction", [template, by, reason, dryRun, yes]), ("Filter of merge", FilterOptions.all),
            ("Suggestions", [limit]),
        ],
        notes: [
            "merge GROUP GROUP... merges issues of one application into the first GROUP. merge GROUP with filter "
                + "options merges all matching issues into GROUP.",
            "split GROUP --template PATTERN moves the records whose title matches PATTERN to a new issue. split "
                + "GROUP --by FIELD gives the records of each value of FIELD an issue of their own; only those with "
                + "the value that was reported first stay. split GROUP without these options undoes the merges into "
                + "the issue.",
            "rule lists corrections. rule add GROUP --template PATTERN merges into GROUP all issues of its application "
                + "whose titles match PATTERN, including future ones. rule remove NUMBER... and undo NUMBER... undo "
                + "corrections. suggest lists pairs of issues whose titles differ in one word; of the filter options, "
                + "it accepts one --app.",
            "merge with filter options, split --by and rule add print the number of issues first; more than 50 need "
                + "confirmation or --yes.",
            "Corrections also apply to future records and can be undone. The ids of merged issues remain valid. "
                + CommandSpecification.severalNote("rule remove and undo"),
            "A merged issue is open if one of its issues was open, otherwise resolved if one was resolved, and "
                + "otherwise muted. It keeps the note of that state; the other states and notes are lost. After undo, "
                + "each issue has the state of the merged issue.",
            FilterOptions.timeNote,
        ],
        examples: [
            "issuectl group merge g92c9da597585468b g0b5c7d1e2f3a4b5c --reason 'same cause'",
            "issuectl group split g92c9da597585468b --template 'Invalid user * from <address>'",
            "issuectl group split g92c9da597585468b --by domain",
            "issuectl group rule add g92c9da597585468b --template 'Invalid user *'", "issuectl group undo 7",
        ])

    /// The maximum number of groups that a filter or a rule merges, or into which a group is split by a field, without
    /// confirmation or `--yes`.
    private static let maxUnconfirmed = 50
    /// The maximum number of groups in one call, as limited by the daemon.
    private static let groupsPerCall = 256

    private let action: Action
    private let ruleAction: RuleAction
    private var ids: [String]
    private let pattern: String?
    private let field: IssueSplitField?
    private let reasonValue: String?
    private let isDryRun: Bool
    private let skipsConfirmation: Bool
    private let filter: IssueFilter?
    private let limit: Int64?

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        guard let word = arguments.operands.first else {
            let names = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("missing action; expected one of: \(names)")
        }
        action = try ParsedArguments.action(word)
        var rest = arguments.operands.dropFirst()
        if action == .rule, let word = rest.popFirst() {
            ruleAction = try ParsedArguments.action(word, after: "rule ")
        } else {
            ruleAction = .list
        }
        ids = Array(rest)
        pattern = try arguments.value(
            of: Self.template, expected: "a text of 1 to \(TitlePattern.maxBytes) bytes, not only of stars"
        ) { TitlePattern($0)?.text }
        field = try arguments.choice(Self.by)
        let maxReason = GroupCorrection.maxReasonBytes
        reasonValue = try arguments.value(of: Self.reason, expected: "a text of 1 to \(maxReason) bytes") { text in
            (1...maxReason).contains(text.utf8.count) ? text : nil
        }
        isDryRun = arguments.has(Self.dryRun)
        skipsConfirmation = arguments.has(Self.yes)
        filter = try FilterOptions.filter(arguments, at: now)
        limit = try arguments.integer(Self.limit, in: 1...200)
        try check(arguments)
    }

    /// Checks that the arguments suit the action.
    private func check(_ arguments: ParsedArguments) throws(UsageError) {
        let isAdding = action == .rule && ruleAction == .add
        let isUndoing = action == .undo || action == .rule && ruleAction == .remove
        let isCounting = action == .merge || isAdding || field != nil
        let hint = action == .rule && ruleAction == .list ? " (did you mean group rule add?)" : ""
        let rules: [(option: OptionSpecification, isAllowed: Bool, actions: String)] = [
            (Self.template, action == .split || isAdding, "split and rule add"),
            (Self.by, action == .split, "split"),
            (Self.dryRun, isCounting, "merge, rule add and split --by"),
            (Self.reason, action == .merge || action == .split || isAdding, "merge, split and rule add\(hint)"),
            (Self.yes, isCounting, "merge, rule add and split --by"),
            (Self.limit, action == .suggest, "suggest"),
        ]
        for rule in rules where arguments.has(rule.option) && !rule.isAllowed {
            throw UsageError("\(rule.option.spelling) is only for \(rule.actions)")
        }
        if field != nil, pattern != nil { throw UsageError("--by and --template cannot be used together") }
        if let filter, action != .merge, !(action == .suggest && filter.isOnlyOneApplication) {
            throw UsageError("filter options are only for merge, except for one --app with suggest")
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
        case .rule, .undo: try expect(1...Int.max, "NUMBER")
        case .suggest: try expect(0...0, "GROUP")
        }
        if isUndoing, let other = ids.first(where: { Int64($0) == nil }) {
            throw UsageError("'\(other)' is not the number of a correction")
        }
    }

    private func expect(_ counts: ClosedRange<Int>, _ name: String) throws(UsageError) {
        if ids.count < counts.lowerBound { throw UsageError("missing argument \(name)") }
        if ids.count > counts.upperBound { throw UsageError("unexpected argument '\(ids[counts.upperBound])'") }
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        var command = self
        do throws(CommandFailure) {
            let isRuleOfGroup = action == .rule && ruleAction != .remove
            if action == .merge || action == .split || isRuleOfGroup {
                command.ids = try AbbreviatedID.completed(ids, in: context)
            }
            try command.perform(in: context)
        } catch {
            throw AbbreviatedID.failure(try failure(error, in: context), ids)
        }
    }

    /// Returns the failure of the command. If an operand is the id of a record, the message names the record's issue.
    private func failure(
        _ failure: CommandFailure, in context: CommandContext
    ) throws(CommandFailure) -> CommandFailure {
        guard failure.code == .refused, action == .merge || action == .split || action == .rule else { return failure }
        for id in ids where id.contains("-") {
            guard let group = RecordOperand.group(of: id, try context.collector()) else { continue }
            return CommandFailure(.refused, "'\(id)' is a record, not an issue: use \(group) instead")
        }
        return failure
    }

    private func perform(in context: CommandContext) throws(CommandFailure) {
        switch (action, ruleAction) {
        case (.merge, _): try merge(in: context)
        case (.split, _):
            if let field { return try split(by: field, in: context) }
            let answer = try context.collector().call(
                CollectorCalls.splitGroup, SplitGroupParameters(group: ids[0], template: pattern, reason: reasonValue))
            try context.print(answer, elements: "groups") {
                groups($0.groups) + CorrectionText.undoing($0.corrections, of: ids[0])
            }
        case (.rule, .add): try addRule(in: context)
        case (.rule, .list):
            let answer = try context.collector().call(
                CollectorCalls.corrections, CorrectionsParameters(group: ids.first))
            try context.print(answer, elements: "corrections") { reply in
                reply.corrections.isEmpty
                    ? ["No corrections."]
                    : reply.corrections.map { CorrectionText.line($0, in: context) }
            }
        case (.rule, .remove), (.undo, _):
            try undo(in: context)
        case (.suggest, _): try suggest(in: context)
        }
    }

    /// Undoes corrections one by one. With `--json`, prints one document for all of them.
    private func undo(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector(notFound: { "no correction \($0): see issuectl group rule" })
        var changed: [(id: String, json: [UInt8])] = []
        let failure = context.forEach(ids) { id throws(CommandFailure) in
            let answer = try collector.call(
                CollectorCalls.undoCorrection, UndoCorrectionParameters(id: Int64(id) ?? 0))
            guard context.format == .json, ids.count > 1 else {
                return try context.print(answer, elements: "groups") { groups($0.groups) }
            }
            for (group, json) in zip(answer.value.groups, answer.elements(of: "groups")) {
                // Only the latest reply has the current counts of a group.
                changed.removeAll { $0.id == group.id }
                changed.append((group.id, json))
            }
        }
        try context.finish(ids, "groups", changed.map(\.json), failure)
    }

    private func groups(_ groups: [IssueGroup]) -> [String] {
        groups.map { group in
            TerminalSanitizer.line(
                "\(group.id) has \(Quantity.text(group.records, "record")): \(group.markedTitle)")
        }
    }

    // MARK: Merging

    private func merge(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        var others = Array(ids.dropFirst())
        if let filter = try AbbreviatedID.completed(filter, in: context) {
            // If the first operand was merged into another group, the filter finds that group, and `show` returns it.
            let target = try collector.call(CollectorCalls.show, ShowParameters(id: ids[0])).value.group.id
            others = try matching(filter, collector).filter { $0 != target }
            try context.printNote("Matches \(Quantity.text(others.count, "issue")).")
            guard !others.isEmpty, !isDryRun else { return try showCount(of: others, collector, context) }
            guard try isConfirmed(others.count, context) else {
                throw CommandFailure(.refused, "nothing was merged")
            }
        } else if isDryRun {
            try context.printNote("\(Quantity.text(others.count, "issue")) would be merged.")
            return try showCount(of: others, collector, context)
        }
        let isOneCall = others.count <= Self.groupsPerCall
        var total: BrowserReply<MergeGroupsReply>?
        while !others.isEmpty {
            let some = Array(others.prefix(Self.groupsPerCall))
            others.removeFirst(some.count)
            do throws(CommandFailure) {
                let reply = try collector.call(
                    CollectorCalls.mergeGroups, MergeGroupsParameters(into: ids[0], groups: some, reason: reasonValue))
                if total == nil { total = reply } else { total?.value.add(reply.value) }
            } catch {
                if let done = total?.value {
                    if context.format != .human { try context.print(json: done.json) }
                    context.warn("merged \(Quantity.text(done.count, "issue")) before the following error")
                    CorrectionText.undoing(done.corrections, of: done.group.id, areMerges: true).forEach(context.warn)
                }
                throw error
            }
        }
        if var total {
            // The received JSON is that of the first call.
            if !isOneCall { total.json = total.value.json }
            try context.print(total) {
                [Self.line($0.group, merged: $0.count)]
                    + CorrectionText.undoing($0.corrections, of: $0.group.id, areMerges: true)
            }
        }
    }

    /// Prints the number of groups that would be merged, as JSON in the form of the reply. Prints nothing in the format
    /// for users, because the caller has printed the number.
    private func showCount(
        of groups: [String], _ collector: Collector, _ context: CommandContext
    ) throws(CommandFailure) {
        guard context.format != .human else { return }
        let target = try collector.call(CollectorCalls.show, ShowParameters(id: ids[0])).value.group
        try context.print(json: MergeGroupsReply(group: target, count: Int64(groups.count)).json)
    }

    /// Returns the ids of all groups that match a filter.
    private func matching(_ filter: IssueFilter, _ collector: Collector) throws(CommandFailure) -> [String] {
        var found: [String] = []
        try collector.eachPage(CollectorCalls.list) { after in
            ListParameters(filter: filter, order: .newest, limit: 500, after: after)
        } receive: { page in
            found += page.value.groups.map(\.id)
            return true
        }
        return found
    }

    /// Asks for confirmation if a correction merges, or splits into, more than 50 groups and `--yes` was not given.
    /// Returns `false` if the user declines. Throws if it cannot ask because the output is JSON or not a terminal.
    private func isConfirmed(_ count: Int, _ context: CommandContext) throws(CommandFailure) -> Bool {
        guard count > Self.maxUnconfirmed, !skipsConfirmation else { return true }
        let isSplit = action == .split
        let issues = Quantity.text(count, "issue")
        guard context.terminal.isTerminal, context.format == .human else {
            throw CommandFailure(
                .refused,
                isSplit
                    ? "the split would result in \(issues): use --yes for more than \(Self.maxUnconfirmed)"
                    : "\(issues) match: use --yes to merge more than \(Self.maxUnconfirmed)")
        }
        return try context.confirm(isSplit ? "Split into \(issues)?" : "Merge \(issues)?")
    }

    private static func line(_ group: IssueGroup, merged: Int64) -> String {
        TerminalSanitizer.line(
            "Merged \(Quantity.text(merged, "issue")) into \(group.id) "
                + "(\(Quantity.text(group.records, "record"))): \(group.markedTitle)")
    }

    private func addRule(in context: CommandContext) throws(CommandFailure) {
        let collector = try context.collector()
        let template = pattern ?? ""
        let count = try collector.call(
            CollectorCalls.addGroupRule, AddGroupRuleParameters(group: ids[0], template: template, isDryRun: true))
        try context.printNote("Matches \(Quantity.text(count.value.count, "issue")).")
        let target = count.value.group
        if TitlePattern(template)?.matches(target.title) == false {
            try context.printNote(
                TerminalSanitizer.line("The pattern does not match the title of \(target.id) itself: \(target.title)"))
        }
        if isDryRun { return try context.print(count) { _ in [] } }
        guard try isConfirmed(Int(clamping: count.value.count), context) else {
            throw CommandFailure(.refused, "no rule was added")
        }
        let answer = try collector.call(
            CollectorCalls.addGroupRule, AddGroupRuleParameters(group: ids[0], template: template, reason: reasonValue))
        try context.print(answer) { reply in
            let group = reply.group
            let line =
                reply.count == 0
                ? TerminalSanitizer.line(
                    "Added a rule for \(group.id); it matches no other issue so far: \(group.markedTitle)")
                : Self.line(group, merged: reply.count)
            return [line] + CorrectionText.undoing(reply.corrections, of: group.id)
        }
    }

    // MARK: Splitting

    private func split(
        by field: IssueSplitField, in context: CommandContext
    ) throws(CommandFailure) {
        let collector = try context.collector()
        let plan = try collector.call(
            CollectorCalls.splitByField, SplitByFieldParameters(group: ids[0], field: field, isDryRun: true))
        let values = plan.value.values
        let shown = values.prefix(Self.maxUnconfirmed).map { $0.isEmpty ? "(none)" : $0 }
        let rest = values.count > shown.count ? ", ..." : ""
        try context.printNote(
            TerminalSanitizer.line(
                "Splits into \(Quantity.text(values.count, "issue")) by \(field.rawValue): "
                    + shown.joined(separator: ", ") + rest))
        if isDryRun { return try context.print(plan, elements: "values") { _ in [] } }
        guard try isConfirmed(values.count, context) else { throw CommandFailure(.refused, "nothing was split") }
        let answer = try collector.call(
            CollectorCalls.splitByField, SplitByFieldParameters(group: ids[0], field: field, reason: reasonValue))
        try context.print(answer, elements: "groups") {
            groups($0.groups) + CorrectionText.undoing($0.corrections, of: ids[0])
        }
    }

    // MARK: Suggestions

    private func suggest(in context: CommandContext) throws(CommandFailure) {
        let answer = try context.collector().call(
            CollectorCalls.suggestMerges,
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
    /// Whether the filter selects one application and nothing else.
    fileprivate var isOnlyOneApplication: Bool {
        var only = IssueFilter()
        only.apps = apps
        return self == only && apps?.count == 1
    }
}

/// The text form of corrections.
enum CorrectionText {
    /// The maximum number of corrections whose numbers are listed.
    private static let maxListed = 10

    /// Returns lines that tell how to undo corrections of a group; an empty array if there are no corrections, or if an
    /// older daemon does not report them.
    ///
    /// - Parameter areMerges: Whether the corrections are merges into the group, which can also be undone together.
    static func undoing(_ corrections: [Int64]?, of group: String, areMerges: Bool = false) -> [String] {
        guard let corrections, !corrections.isEmpty else { return [] }
        guard corrections.count <= maxListed else {
            let count = Quantity.text(Int64(corrections.count), "correction")
            var lines = ["To undo the \(count), see: issuectl group rule list \(group)"]
            if areMerges {
                lines.append("To undo all merges into it, also earlier ones: issuectl group split \(group)")
            }
            return lines.map { TerminalSanitizer.line($0) }
        }
        return ["To undo: issuectl group undo \(corrections.map { "\($0)" }.joined(separator: " "))"]
    }

    /// Returns a line such as `7  merged g1 into g2 in shop, by user 1000 3 min ago, 2 hits: same cause`.
    static func line(_ correction: GroupCorrection, in context: CommandContext) -> String {
        let time = RelativeTime.text(correction.timestamp, now: context.now)
        var text = "\(correction.id)  \(change(correction)) in \(correction.app), "
        text += "by user \(context.user(correction.author)) \(time)"
        text += ", \(Quantity.text(correction.hits, "hit"))"
        if let reason = correction.reason { text += ": \(reason)" }
        return TerminalSanitizer.line(text)
    }

    /// Returns what a correction does, such as `merged g1 into g2`. The caller must sanitize the text for the terminal.
    static func change(_ correction: GroupCorrection) -> String {
        let (other, template) = (correction.other ?? "", correction.template ?? "")
        switch correction.kind {
        case .merge: return "merged \(other) into \(correction.group)"
        case .split:
            let part =
                if let field = correction.field {
                    template.isEmpty ? "records without \(field.rawValue)" : "\(field.rawValue) '\(template)'"
                } else {
                    "'\(template)'"
                }
            return "split \(part) from \(other) into \(correction.group)"
        case .rule: return "rule: '\(template)' belongs to \(correction.group)"
        }
    }
}

package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// The user who makes or undoes a correction, with the time and the reason.
    package struct CorrectionAuthor: Sendable {
        package var uid: UInt32
        package var at: IssueTimestamp
        /// The reason; empty if the user gave none.
        package var reason: String

        package init(uid: UInt32, at: IssueTimestamp, reason: String?) {
            self.uid = uid
            self.at = at
            self.reason = reason ?? ""
        }
    }

    /// The maximum number of corrections of an application.
    package static let maxCorrections = 1000
    /// The maximum number of corrections of all applications of a user.
    package static let maxCorrectionsByUser = 4096
    /// The maximum number of rules, and of splits, of an application. Each rule is compared with each new issue.
    package static let maxRules = 100
    /// The maximum length of a chain of merges, in which the target of a merge is the source of the next one. The chain
    /// is followed for each new series.
    package static let maxDepth = 64
    /// The maximum number of a group's series that one transaction examines or moves for a correction. Reports wait
    /// until the transaction ends.
    package static let seriesPerCorrection = 512

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Merges groups into another group of the same account, with all future records of their fingerprints.
    ///
    /// If the groups have more series than one transaction may move, `regroup` moves the rest later.
    ///
    /// - Parameters:
    ///   - groups: The groups to merge.
    ///   - target: The group that gets their records.
    ///   - author: The user who merges them.
    /// - Returns: The numbers of the new corrections. A group that is already merged into `target` gets none, and
    ///   groups that are already merged with each other get one together. Nil if one correction per group would exceed
    ///   a limit for corrections or their lines, or if a chain of merges would become too long.
    package func merge(
        _ groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> [Int64]? {
        defer { callbacks.onCorrections?() }
        return try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            guard try table.allowsCorrections(groups.count, ofAccountOf: target),
                try table.allowsEvents(groups.count, ofUserOf: target, at: author.at)
            else { return nil }
            var sources: [GroupID] = []
            for group in groups {
                let source = try table.root(of: group)
                if source != target, !sources.contains(source) { sources.append(source) }
            }
            guard try table.mergeDepth(of: sources) < Self.maxDepth else { return nil }
            var redirects: [(source: GroupID, correction: Int64)] = []
            for source in sources {
                let correction = try table.insertCorrection(.merge, from: source, to: target, pattern: nil, author)
                try table.addEvent(correction, .merge, from: source, to: target, pattern: nil, author)
                redirects.append((source, correction))
            }
            try redirect(redirects, to: target)
            return redirects.map(\.correction)
        }
    }

    /// Makes groups redirects to another one, and moves as many of their series as one transaction may.
    private func redirect(
        _ redirects: [(source: GroupID, correction: Int64)], to target: GroupID
    ) throws(SQLiteError) {
        var left = Self.seriesPerCorrection
        for (source, correction) in redirects {
            try table.redirect(source, to: target, by: correction, from: memory.open.nextID)
            let moved =
                left == 0 ? [] : try table.moveSeries(of: source, to: target, limit: left, from: memory.open.nextID)
            left -= moved.count
            if left == 0 { memory.values.regroupedThrough = 0 }
        }
        try groupsChanged([target])
    }

    /// Merges the groups of an account that match a pattern, including future groups, into one group.
    ///
    /// - Parameters:
    ///   - pattern: The pattern for titles.
    ///   - groups: The groups that match now.
    ///   - target: The group that gets their records.
    ///   - author: The user who adds the rule.
    /// - Returns: The number of the correction; nil if a limit for corrections or their lines would be exceeded, or if
    ///   a chain of merges would become too long.
    package func addRule(
        _ pattern: TitlePattern, merging groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> Int64? {
        defer { callbacks.onCorrections?() }
        return try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            var sources: Set<GroupID> = []
            for group in groups { sources.insert(try table.root(of: group)) }
            sources.remove(target)
            guard try table.allowsCorrections(1, .rule, ofAccountOf: target),
                try table.allowsEvents(1 + sources.count, ofUserOf: target, at: author.at),
                try table.mergeDepth(of: sources.sorted()) < Self.maxDepth
            else { return nil }
            let correction = try table.insertCorrection(.rule, from: target, to: target, pattern: pattern.text, author)
            for source in [nil] + sources.sorted() {
                try table.addEvent(correction, .rule, from: source, to: target, pattern: pattern.text, author)
            }
            try redirect(sources.sorted().map { ($0, correction) }, to: target)
            return correction
        }
    }

    // MARK: Splitting

    /// A group to split off.
    package struct SplitPart: Equatable, Sendable {
        package var selector: SplitSelector
        /// A series that the selector matches.
        package var sample: SeriesID

        package init(selector: SplitSelector, sample: SeriesID) {
            self.selector = selector
            self.sample = sample
        }
    }

    /// The progress of a split.
    package struct Split: Equatable, Sendable {
        package let source: GroupID
        /// The groups that get series of `source`, in the order of the parts, without those merged into `source`.
        package let targets: [GroupID]
        /// The numbers of the corrections that were stored. A part that was begun earlier has none.
        package let corrections: [Int64]
        fileprivate let selectors: [SplitSelector]
        /// The last series that was examined.
        fileprivate var reached: SeriesID = 0
        package fileprivate(set) var isDone = false
    }

    /// Begins to split a group: stores a correction for each new part. The corrections apply to new series from now on.
    /// `proceed(with:)` moves the existing series.
    ///
    /// The groups of new parts get the state of the split group. A part that was begun earlier is continued.
    ///
    /// - Parameters:
    ///   - group: The group to split.
    ///   - parts: The groups to split off. No series may match two parts.
    ///   - author: The user who splits the group.
    /// - Returns: The progress. Nil if a limit for corrections or their lines would be exceeded, if a sample is no
    ///   longer in the group or its description was erased, or if all groups to split off have been merged into the
    ///   split group.
    package func beginSplit(
        _ group: GroupID, into parts: [SplitPart], _ author: CorrectionAuthor
    ) throws(StoreFailure) -> Split? {
        defer { callbacks.onCorrections?() }
        return try transaction { () throws(SQLiteError) in
            let source = try table.root(of: group)
            var samples: [SeriesDescription] = []
            for part in parts {
                guard
                    let first = try table.series(
                        of: source, above: SeriesID(rawValue: part.sample.rawValue - 1), limit: 1
                    ).first, first.id == part.sample
                else { return nil }
                samples.append(first.description)
            }
            let known = try table.splits(of: source, &memory.caches.patterns)
            let newCount = parts.count { part in !known.contains { $0.selector == part.selector } }
            guard try table.allowsCorrections(newCount, .split, ofAccountOf: source),
                try table.allowsEvents(newCount, ofUserOf: source, at: author.at)
            else { return nil }
            let triage = TriageTable(connection: connection)
            var (targets, selectors): ([GroupID], [SplitSelector]) = ([], [])
            var corrections: [Int64] = []
            for (part, sample) in zip(parts, samples) {
                guard let target = try table.splitTarget(of: source, part.selector, sample) else { continue }
                if try !table.hasCorrection(.split, from: source, to: target, part.selector.stored) {
                    let (pattern, kind) = (part.selector.stored, GroupCorrection.Kind.split)
                    let correction = try table.insertCorrection(
                        kind, from: source, to: target, pattern: pattern, author)
                    corrections.append(correction)
                    try table.addEvent(correction, kind, from: source, to: target, pattern: pattern, author)
                    _ = try triage.write(try triage.standing(ofGroup: source), of: target, from: memory.open.nextID)
                }
                targets.append(target)
                selectors.append(part.selector)
            }
            guard !targets.isEmpty else { return nil }
            try groupsChanged([source] + targets)
            return Split(source: source, targets: targets, corrections: corrections, selectors: selectors)
        }
    }

    /// Examines the next series of a group that is being split, and moves those that match. Returns the new progress.
    package func proceed(with split: Split) throws(StoreFailure) -> Split {
        try transaction { () throws(SQLiteError) in
            var split = split
            let page = try table.series(of: split.source, above: split.reached, limit: Self.seriesPerCorrection)
            var matching: [Int: [SeriesID]] = [:]
            for series in page {
                var fields = SplitSelector.Fields(series.description, title: RecordCommit.title(of: series.description))
                let index = split.selectors.firstIndex { $0.matches(&fields) }
                if let index { matching[index, default: []].append(series.id) }
            }
            for (index, series) in matching {
                let target = try table.root(of: split.targets[index])
                guard target != split.source else { continue }
                try table.move(series, from: split.source, to: target, from: memory.open.nextID)
                try seriesMoved(series, to: target)
            }
            split.reached = page.last?.id ?? split.reached
            split.isDone = page.count < Self.seriesPerCorrection
            return split
        }
    }

    /// Updates the caches after corrections of these groups have changed.
    func groupsChanged(_ groups: [GroupID]) throws(SQLiteError) {
        memory.caches.triage.removeAll()
        memory.caches.patterns.removeAll()
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        for group in groups { try updateWatch(of: group) }
    }
}

extension StoreReader {
    /// Compares the titles of a group's series with a pattern. Ignores series whose description was erased.
    ///
    /// - Returns: The first series whose title matches, nil if there is none; and whether all titles match.
    package func match(_ pattern: TitlePattern, in group: GroupID) throws -> (sample: SeriesID?, isAll: Bool) {
        try snapshot { try GroupTable(connection: connection).match(pattern, in: group) }
    }

    /// Returns the attributes of a group, computed from its series; nil if no series has a description.
    package func attributes(of group: GroupID) throws -> GroupAttributes? {
        try snapshot { try GroupTable(connection: connection).attributes(of: group) }
    }

    /// Returns `true` if a user must not split groups, because too many groups that were split off from theirs are now
    /// redirects. When a split is undone, or when the group that it created is merged, that group remains as a redirect,
    /// so that its id stays valid.
    package func hasTooManyFormerSplits(_ uid: UInt32) throws -> Bool {
        try snapshot {
            let count = try connection.integer(
                """
                SELECT count(*) FROM accounts JOIN groups ON groups.account = accounts.id
                WHERE uid = ?1 AND first_record = 0 AND merged_into IS NOT NULL
                """, uid)
            return count >= StoreWriter.maxCorrectionsByUser
        }
    }
}

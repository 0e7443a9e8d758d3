package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Who makes a correction, when and why.
    package struct CorrectionAuthor: Sendable {
        package var uid: UInt32
        package var at: IssueTimestamp
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
    /// The maximum number of rules of an application, and of its splits. Each rule is compared with the title of each new
    /// issue.
    package static let maxRules = 100
    /// The maximum length of a chain of merges, each of which merges the result of another one. New records follow it.
    package static let maxDepth = 64
    /// The maximum number of series that one transaction moves. Reports wait for it.
    package static let seriesPerCorrection = 512
    /// The maximum number of groups that one transaction turns back.
    private static let groupsPerUndoing = 64
    /// Groups with fewer series are described in the transaction that changes them.
    private static let seriesPerDescription = 64

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Merges groups into another group of the same account, with all future records of their fingerprints.
    ///
    /// If they have many series, `regroup` moves some of these later.
    ///
    /// - Returns: The number of groups that were merged. Groups that belong together already are not counted. Nil if this
    ///   exceeds a limit for corrections.
    package func merge(
        _ groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> Int? {
        try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            guard try table.allowsCorrections(groups.count, ofAccountOf: target) else { return nil }
            var sources: [GroupID] = []
            for group in groups {
                let source = try table.root(of: group)
                if source != target, !sources.contains(source) { sources.append(source) }
            }
            guard try table.mergeDepth(of: sources) < Self.maxDepth else { return nil }
            var redirects: [(source: GroupID, correction: Int64)] = []
            for source in sources {
                redirects.append(
                    (source, try table.insertCorrection(.merge, from: source, to: target, pattern: nil, author)))
            }
            try redirect(redirects, to: target)
            return sources.count
        }
    }

    /// Makes groups redirects to another one and moves their first series.
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

    /// Merges the groups of an account that match a pattern into one group, including future ones.
    ///
    /// - Parameter groups: The groups that match now.
    /// - Returns: `false` if this exceeds a limit for corrections.
    package func addRule(
        _ pattern: TitlePattern, merging groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> Bool {
        try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            var sources: Set<GroupID> = []
            for group in groups { sources.insert(try table.root(of: group)) }
            sources.remove(target)
            guard try table.allowsCorrections(1, .rule, ofAccountOf: target),
                try table.mergeDepth(of: sources.sorted()) < Self.maxDepth
            else { return false }
            let correction = try table.insertCorrection(.rule, from: target, to: target, pattern: pattern.text, author)
            try redirect(sources.sorted().map { ($0, correction) }, to: target)
            return true
        }
    }

    // MARK: Splitting

    /// The result of a split.
    package enum SplitResult: Equatable, Sendable {
        case done(GroupID)
        /// No series of the group matches.
        case noMatch
        /// All series of the group match, so that none would be left.
        case allMatch
        case tooMany
    }

    /// A group that a split makes.
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
        /// The groups that get series of `source`, in the order of the parts.
        package let targets: [GroupID]
        fileprivate let selectors: [SplitSelector]
        fileprivate var reached: SeriesID = 0
        package fileprivate(set) var isDone = false
    }

    /// Begins to split a group: stores a correction for each part, so that they apply to future records.
    ///
    /// The new groups have the state of the old one. A part that was begun before is continued.
    ///
    /// - Parameter parts: The groups to make. No series matches two of them.
    /// - Returns: Nil if this exceeds a limit for corrections, or if the group or a sample has changed.
    package func beginSplit(
        _ group: GroupID, into parts: [SplitPart], _ author: CorrectionAuthor
    ) throws(StoreFailure) -> Split? {
        try transaction { () throws(SQLiteError) in
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
            guard try table.allowsCorrections(newCount, .split, ofAccountOf: source) else { return nil }
            let triage = TriageTable(connection: connection)
            var (targets, selectors): ([GroupID], [SplitSelector]) = ([], [])
            for (part, sample) in zip(parts, samples) {
                guard let target = try table.splitTarget(of: source, part.selector, sample) else { continue }
                if try !table.hasCorrection(.split, from: source, to: target, part.selector.stored) {
                    _ = try table.insertCorrection(
                        .split, from: source, to: target, pattern: part.selector.stored, author)
                    _ = try triage.write(try triage.standing(ofGroup: source), of: target, from: memory.open.nextID)
                }
                targets.append(target)
                selectors.append(part.selector)
            }
            guard !targets.isEmpty else { return nil }
            try groupsChanged([source] + targets)
            return Split(source: source, targets: targets, selectors: selectors)
        }
    }

    /// Moves some more series of a group that is being split.
    package func proceed(with split: Split) throws(StoreFailure) -> Split {
        try transaction { () throws(SQLiteError) in
            var split = split
            let some = try table.series(of: split.source, above: split.reached, limit: Self.seriesPerCorrection)
            var matching: [Int: [SeriesID]] = [:]
            for series in some {
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
            split.reached = some.last?.id ?? split.reached
            split.isDone = some.count < Self.seriesPerCorrection
            return split
        }
    }

    /// Moves the series of a group whose titles match a pattern, including future ones, to a group of their own.
    ///
    /// The daemon performs the same steps one by one, so that reports need not wait for all of them.
    package func split(
        _ group: GroupID, by pattern: TitlePattern, _ author: CorrectionAuthor
    ) throws(StoreFailure) -> SplitResult {
        let (sample, isAll) = try failing { () throws(SQLiteError) in
            try table.match(pattern, in: try table.root(of: group))
        }
        guard let sample else { return .noMatch }
        guard !isAll else { return .allMatch }
        let part = SplitPart(selector: .title(pattern), sample: sample)
        guard let split = try split(group, into: [part], author) else { return .tooMany }
        return .done(split.targets[0])
    }

    /// Gives the series of each value of a field, including future ones, a group of their own. Those with the value of
    /// the oldest series stay.
    ///
    /// Each of the new groups is a correction that can be undone. The daemon performs the same steps one by one.
    ///
    /// - Returns: The groups, in the order of the values. Nil if this exceeds a limit for corrections. Only the group
    ///   itself if all series have the same value.
    package func split(
        _ group: GroupID, by field: IssueSplitField, _ author: CorrectionAuthor
    ) throws(StoreFailure) -> [GroupID]? {
        let (source, values) = try failing { () throws(SQLiteError) in
            let source = try table.root(of: group)
            return (source, try table.values(ofGroup: source, limit: Self.maxRules + 1)[field] ?? [])
        }
        guard values.count > 1 else { return [source] }
        let parts = values.dropFirst().map {
            SplitPart(selector: .field(field, value: $0.value), sample: $0.sample)
        }
        guard let split = try split(group, into: parts, author) else { return nil }
        return [source] + split.targets
    }

    private func split(
        _ group: GroupID, into parts: [SplitPart], _ author: CorrectionAuthor
    ) throws(StoreFailure) -> Split? {
        guard var split = try beginSplit(group, into: parts, author) else { return nil }
        while !split.isDone { split = try proceed(with: split) }
        for group in [split.source] + split.targets {
            try describe(group, failing { () throws(SQLiteError) in try table.attributes(of: group) })
        }
        return split
    }

    // MARK: Undoing

    /// The progress of undoing a correction.
    package struct Undoing: Sendable {
        fileprivate enum Phase {
            /// Redirects above this group are turned back into groups.
            case detaching(above: GroupID)
            /// Series above this one move, first those of the last group.
            case moving([GroupID], above: SeriesID)
            /// Groups above this one that were turned back get their attributes.
            case finishing(above: GroupID)
        }

        package let correction: Int64
        /// Groups that the records belong to now; at most 1,000 of them.
        package fileprivate(set) var groups: [GroupID] = []
        package fileprivate(set) var isDone = false
        /// The progress of undoing a merge or rule.
        fileprivate var phase = Phase.detaching(above: 0)
        /// The groups whose series may have to move.
        fileprivate var holders: Set<GroupID> = []
        /// The last series that was moved if a split is undone.
        fileprivate var reachedSeries: SeriesID = 0
        /// Groups with many series that have lost or got some.
        fileprivate var undescribed: Set<GroupID> = []

        package init(correction: Int64) {
            self.correction = correction
        }

        fileprivate mutating func add(_ group: GroupID) {
            if groups.count < 1000, !groups.contains(group) { groups.append(group) }
        }

        /// Returns the groups whose attributes must be set with `describe` before the next step: all at the end, and
        /// before that only if there are many.
        package mutating func takeUndescribed() -> [GroupID] {
            guard isDone || undescribed.count >= 256 else { return [] }
            defer { undescribed.removeAll() }
            return undescribed.sorted()
        }
    }

    /// Undoes a part of a correction, also for records that arrived since.
    ///
    /// The correction is removed with the last part. If it is interrupted before, undoing it again continues.
    ///
    /// - Returns: Nil if the correction does not exist.
    package func proceed(with undoing: Undoing) throws(StoreFailure) -> Undoing? {
        try transaction { () throws(SQLiteError) in
            guard let found = try table.correction(undoing.correction) else { return nil }
            var undoing = undoing
            let target = try table.root(of: found.target)
            if undoing.groups.isEmpty {
                undoing.add(target)
                undoing.undescribed.insert(target)
            }
            switch found.kind {
            case .merge, .rule: try turnBack(&undoing, target)
            case .split: try returnHome(&undoing, found, target)
            }
            if undoing.isDone { try table.dropCorrection(undoing.correction) }
            memory.caches.triage.removeAll()
            memory.caches.patterns.removeAll()
            memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
            return undoing
        }
    }

    /// Turns redirects of a merge or rule back into groups, moves their series, and then sets their attributes: a part
    /// of it.
    private func turnBack(_ undoing: inout Undoing, _ target: GroupID) throws(SQLiteError) {
        switch undoing.phase {
        case .detaching(let group):
            let sources = try table.redirects(by: undoing.correction, above: group, limit: Self.groupsPerUndoing)
            for source in sources {
                let holder = try table.root(of: source)
                // Otherwise it was turned back before the daemon was interrupted.
                if holder != source {
                    try table.detach(source, from: holder, row: memory.open.nextID)
                    undoing.holders.insert(holder)
                }
                undoing.add(source)
            }
            if let last = sources.last, sources.count == Self.groupsPerUndoing {
                undoing.phase = .detaching(above: last)
            } else {
                undoing.phase = .moving(try table.withSplits(undoing.holders.union([target])), above: 0)
            }
        case .moving(var groups, let series):
            guard let group = groups.last else {
                undoing.phase = .finishing(above: 0)
                return
            }
            if let last = try moveBack(&undoing, seriesOf: group, above: series) {
                undoing.phase = .moving(groups, above: last)
            } else {
                groups.removeLast()
                undoing.phase = .moving(groups, above: 0)
            }
        case .finishing(let group):
            let sources = try table.redirects(by: undoing.correction, above: group, limit: Self.groupsPerUndoing)
            for source in sources {
                let holder = try table.root(of: source)
                if holder != source {
                    // A rule has merged it in the meantime, so it has few series.
                    try table.detach(source, from: holder, row: memory.open.nextID)
                    let series = try table.series(
                        ofFingerprintOf: source, in: holder, limit: Self.seriesPerCorrection)
                    try table.move(series, from: holder, to: source, from: memory.open.nextID)
                    try seriesMoved(series, to: source)
                    undoing.add(source)
                }
                try describe(source, orLater: &undoing)
                try table.forgetCorrection(of: source)
            }
            undoing.phase = .finishing(above: sources.last ?? group)
            undoing.isDone = sources.count < Self.groupsPerUndoing
        }
    }

    /// Moves some series of a group to the groups that are turned back, or to what splits take out of these.
    ///
    /// - Returns: The last series that was examined; nil if there are no more.
    private func moveBack(
        _ undoing: inout Undoing, seriesOf group: GroupID, above series: SeriesID
    ) throws(SQLiteError) -> SeriesID? {
        let some = try table.homes(ofSeriesOf: group, above: series, limit: Self.seriesPerCorrection)
        var places = PlaceFinder(table: table, correction: undoing.correction)
        var moved: [GroupID: [SeriesID]] = [:]
        for series in some {
            guard let place = try places.place(of: series.key, home: series.home), place != group else { continue }
            moved[place, default: []].append(series.id)
        }
        for (place, series) in moved {
            try table.move(series, from: group, to: place, from: memory.open.nextID)
            try seriesMoved(series, to: place)
            // Those that are turned back get their attributes at the end.
            if try !places.isTurnedBack(place) { undoing.undescribed.insert(place) }
        }
        if !moved.isEmpty { undoing.undescribed.insert(group) }
        return some.count < Self.seriesPerCorrection ? nil : some.last?.id
    }

    /// Sets the attributes of a group if it has few series, and otherwise notes that they must be set.
    private func describe(_ group: GroupID, orLater undoing: inout Undoing) throws(SQLiteError) {
        if try table.hasSeries(group, Self.seriesPerDescription) {
            undoing.undescribed.insert(group)
        } else {
            try table.describe(group, try table.attributes(of: group))
        }
    }

    /// Moves some series of a group that was split off back to the groups of their fingerprints.
    private func returnHome(
        _ undoing: inout Undoing, _ correction: CorrectionRow, _ group: GroupID
    ) throws(SQLiteError) {
        let some = try table.returnHome(
            seriesOf: group, above: undoing.reachedSeries, limit: Self.seriesPerCorrection, from: memory.open.nextID)
        for (home, series) in some.moved {
            try seriesMoved(series, to: home)
            undoing.add(home)
            try describe(home, orLater: &undoing)
        }
        undoing.reachedSeries = some.last ?? undoing.reachedSeries
        undoing.isDone = some.count < Self.seriesPerCorrection
        guard undoing.isDone, group == correction.target, try !table.hasSeries(group, 1) else { return }
        // Its id refers to the group that the records returned to.
        guard let other = undoing.groups.first(where: { $0 != group }) else { return }
        try table.dropCorrection(correction.id)
        try table.redirect(group, to: other, by: nil, from: memory.open.nextID)
        undoing.groups.removeAll { $0 == group }
        undoing.undescribed.remove(group)
    }

    /// Undoes a correction completely.
    ///
    /// - Returns: The groups that the records belong to now; nil if the correction does not exist.
    package func undo(correction id: Int64) throws(StoreFailure) -> [GroupID]? {
        var undoing = Undoing(correction: id)
        while !undoing.isDone {
            guard let next = try proceed(with: undoing) else { return nil }
            undoing = next
            for group in undoing.takeUndescribed() {
                try describe(group, failing { () throws(SQLiteError) in try table.attributes(of: group) })
            }
        }
        return undoing.groups
    }

    /// Returns the merges into a group or, if the group was merged into another one, that merge; newest first.
    package func mergesToUndo(of group: GroupID) throws(StoreFailure) -> [Int64] {
        try failing { () throws(SQLiteError) in try table.mergesToUndo(of: group) }
    }

    /// Undoes the merges into a group or, if the group was merged into another one, that merge.
    ///
    /// - Returns: The groups that the records belong to now.
    package func undoMerges(of group: GroupID) throws(StoreFailure) -> [GroupID] {
        var groups: [GroupID] = []
        for id in try mergesToUndo(of: group) {
            for group in try undo(correction: id) ?? [] where !groups.contains(group) { groups.append(group) }
        }
        return groups
    }

    /// Sets the title, severity, versions and first time of a group whose series have changed.
    package func describe(_ group: GroupID, _ attributes: GroupAttributes?) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in try table.describe(group, attributes) }
    }

    private func failing<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreFailure) -> Value {
        try StoreWriter.failing(body)
    }

    /// Updates the caches after series have moved between these groups.
    func groupsChanged(_ groups: [GroupID]) throws(SQLiteError) {
        memory.caches.triage.removeAll()
        memory.caches.patterns.removeAll()
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        let triage = TriageTable(connection: connection)
        for group in groups {
            try triage.watch(group, try triage.standing(ofGroup: group).state != .open, &memory.caches.series)
        }
    }
}

extension StoreReader {
    /// Returns a series of a group whose title matches a pattern, and whether all of them do.
    package func match(_ pattern: TitlePattern, in group: GroupID) throws -> (sample: SeriesID?, isAll: Bool) {
        try snapshot { try GroupTable(connection: connection).match(pattern, in: group) }
    }

    /// Returns the attributes of a group by its series; nil if it has none.
    package func attributes(of group: GroupID) throws -> GroupAttributes? {
        try snapshot { try GroupTable(connection: connection).attributes(of: group) }
    }

    /// Returns `true` if a user has undone as many splits as allowed.
    ///
    /// Each of them leaves a group, because its id remains valid.
    package func hasTooManyFormerSplits(_ uid: UInt32) throws -> Bool {
        try snapshot {
            try connection.withStatement(
                """
                SELECT count(*) FROM accounts JOIN groups ON groups.account = accounts.id
                WHERE uid = ?1 AND first_record = 0 AND merged_into IS NOT NULL
                """
            ) { statement in
                statement.bind(Int64(uid), at: 1)
                return try statement.first { $0.int(0) } ?? 0
            } >= StoreWriter.maxCorrectionsByUser
        }
    }
}

/// The attributes of a group that depend on its series.
package struct GroupAttributes: Equatable, Sendable {
    var first: SeriesDescription
    var severity: Int64
    var firstAt: Int64
    var firstVersion: String?
    var lastVersion: String?
    /// The newest series that was examined.
    var last: SeriesID
}

/// The patterns of rules and splits that are applied to new series.
///
/// Every record above the limits for new issues looks for a rule, so they must not be read each time.
struct PatternCache {
    struct Entry {
        var id: Int64
        var target: GroupID
        var selector: SplitSelector
    }

    // The patterns of an account or a group take up to 60 KB.
    var rules = BoundedCache<AccountID, [Entry]>(capacity: 64)
    var splits = BoundedCache<GroupID, [Entry]>(capacity: 64)

    mutating func removeAll() {
        rules.removeAll()
        splits.removeAll()
    }
}

/// A row of `corrections`.
struct CorrectionRow {
    var id: Int64
    var kind: GroupCorrection.Kind
    var source: GroupID
    var target: GroupID
}

extension GroupCorrection.Kind {
    /// The number of the kind in the database.
    var databaseValue: Int64 {
        switch self {
        case .merge: 1
        case .split: 2
        case .rule: 3
        }
    }

    init?(databaseValue: Int64) {
        guard let match = Self.allCases.first(where: { $0.databaseValue == databaseValue }) else { return nil }
        self = match
    }
}

/// Finds the groups that series belong to while a merge or rule is undone.
private struct PlaceFinder {
    let table: GroupTable
    let correction: Int64
    private var roots: [GroupID: GroupID] = [:]
    private var turnedBack: [GroupID: Bool] = [:]
    private var patterns = PatternCache()

    init(table: GroupTable, correction: Int64) {
        self.table = table
        self.correction = correction
    }

    /// Returns the group that a series belongs to after all merges and splits; nil if none of the groups on the way
    /// there is turned back, so that undoing the merge does not concern the series.
    ///
    /// - Parameters:
    ///   - key: The series. If its description was erased, no split applies to it.
    ///   - home: The group of its fingerprint.
    mutating func place(of key: [UInt8], home: GroupID) throws(SQLiteError) -> GroupID? {
        var group = try root(of: home)
        var isConcerned = try isTurnedBack(group)
        var applied: Set<Int64> = []
        while try !table.splits(of: group, &patterns).isEmpty, let series = SeriesKey.decode(key),
            let split = try table.split(of: group, series, &patterns), applied.insert(split.id).inserted
        {
            group = try root(of: split.target)
            if try isTurnedBack(group) { isConcerned = true }
        }
        return isConcerned ? group : nil
    }

    mutating func isTurnedBack(_ group: GroupID) throws(SQLiteError) -> Bool {
        if let known = turnedBack[group] { return known }
        let found = try table.isTurnedBack(group, from: correction)
        turnedBack[group] = found
        return found
    }

    private mutating func root(of group: GroupID) throws(SQLiteError) -> GroupID {
        if let known = roots[group] { return known }
        let root = try table.root(of: group)
        roots[group] = root
        return root
    }
}

/// Corrections in the database.
extension GroupTable {
    /// Returns `true` if an account may get more corrections.
    ///
    /// - Parameters:
    ///   - count: The number of new corrections.
    ///   - kind: The kind of these corrections.
    ///   - group: A group of the account.
    func allowsCorrections(
        _ count: Int, _ kind: GroupCorrection.Kind = .merge, ofAccountOf group: GroupID
    ) throws(SQLiteError) -> Bool {
        let found = try connection.withStatement(
            """
            SELECT sum(account = own.id), sum(account = own.id AND kind = ?2), count(*)
            FROM corrections JOIN (SELECT id, uid FROM accounts WHERE id = (
                SELECT account FROM groups WHERE id = ?1)) AS own
            WHERE account IN (SELECT accounts.id FROM accounts WHERE accounts.uid = own.uid)
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(kind.databaseValue, at: 2)
            return try statement.first { (all: $0.int(0), ofKind: $0.int(1), byUser: $0.int(2)) }
        }
        guard let found else { return true }
        return found.all + count <= StoreWriter.maxCorrections
            && found.byUser + count <= StoreWriter.maxCorrectionsByUser
            && (kind == .merge || found.ofKind + count <= StoreWriter.maxRules)
    }

    /// Returns the length of the longest chain of merges that ends at one of these groups of one account. Each of the
    /// merges merged the result of another one.
    func mergeDepth(of groups: [GroupID]) throws(SQLiteError) -> Int {
        guard let first = groups.first else { return 0 }
        // A group into which others were merged is the target of a correction.
        let parents = try connection.withStatement(
            """
            SELECT DISTINCT groups.id, merged_into FROM corrections JOIN groups ON groups.id = corrections.target
            WHERE corrections.account = (SELECT account FROM groups WHERE id = ?1) AND kind <> 2
            """
        ) { statement throws(SQLiteError) in
            statement.bind(first, at: 1)
            return try statement.all { ($0.id(0, as: GroupID.self), $0.optionalID(1, as: GroupID.self)) }
        }
        let parent = Dictionary(parents.map { ($0.0, $0.1) }) { first, _ in first }
        let wanted = Set(groups)
        var deepest = 0
        for start in parent.keys {
            var (group, depth) = (start, 1)
            while !wanted.contains(group), let next = parent[group] ?? nil, depth <= parent.count {
                (group, depth) = (next, depth + 1)
            }
            if wanted.contains(group) { deepest = max(deepest, depth) }
        }
        return deepest
    }

    func insertCorrection(
        _ kind: GroupCorrection.Kind, from source: GroupID, to target: GroupID, pattern: String?,
        _ author: StoreWriter.CorrectionAuthor
    ) throws(SQLiteError) -> Int64 {
        try connection.withStatement(
            """
            INSERT INTO corrections (account, kind, source, target, pattern, author, at, reason)
            SELECT account, ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM groups WHERE id = ?3
            """
        ) { statement throws(SQLiteError) in
            statement.bind(kind.databaseValue, at: 1)
            statement.bind(source, at: 2)
            statement.bind(target, at: 3)
            statement.bind(pattern, at: 4)
            statement.bind(Int64(author.uid), at: 5)
            statement.bind(author.at.millisecondsSince1970, at: 6)
            statement.bind(author.reason, at: 7)
            try statement.run()
        }
        return connection.lastInsertedRowID
    }

    func correction(_ id: Int64) throws(SQLiteError) -> CorrectionRow? {
        try connection.withStatement("SELECT kind, source, target FROM corrections WHERE id = ?1") {
            statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            return try statement.first { row in
                GroupCorrection.Kind(databaseValue: row.int64(0)).map {
                    CorrectionRow(id: id, kind: $0, source: row.id(1), target: row.id(2))
                }
            } ?? nil
        }
    }

    func dropCorrection(_ id: Int64) throws(SQLiteError) {
        try connection.withStatement("DELETE FROM corrections WHERE id = ?1") { statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            try statement.run()
        }
    }

    /// Returns groups that a correction has made redirects and whose merge is not undone completely, in the order of
    /// their ids.
    func redirects(by correction: Int64, above group: GroupID, limit: Int) throws(SQLiteError) -> [GroupID] {
        try connection.withStatement("SELECT id FROM groups WHERE merged_by = ?1 AND id > ?2 ORDER BY id LIMIT ?3") {
            statement throws(SQLiteError) in
            statement.bind(correction, at: 1)
            statement.bind(group, at: 2)
            statement.bind(limit, at: 3)
            return try statement.all { $0.id(0, as: GroupID.self) }
        }
    }

    /// Returns the merges into a group, or the one that made the group a redirect, newest first.
    func mergesToUndo(of group: GroupID) throws(SQLiteError) -> [Int64] {
        try connection.withStatement(
            """
            SELECT id FROM corrections WHERE account = (SELECT account FROM groups WHERE id = ?1) AND kind = 1 AND CASE
                WHEN (SELECT merged_by FROM groups WHERE id = ?1) IS NULL THEN target = ?1
                ELSE id = (SELECT merged_by FROM groups WHERE id = ?1) END
            ORDER BY id DESC
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.all { $0.int64(0) }
        }
    }

    /// Returns series of a group in the order of their ids, without those whose description was erased.
    ///
    /// - Parameter series: Only series with a higher id are returned.
    func series(
        of group: GroupID, above series: SeriesID = 0, limit: Int
    ) throws(SQLiteError) -> [(id: SeriesID, description: SeriesDescription)] {
        try connection.withStatement(
            #"SELECT id, key FROM series WHERE "group" = ?1 AND id > ?2 AND key <> x'' ORDER BY id LIMIT ?3"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(series, at: 2)
            statement.bind(limit, at: 3)
            return try statement.all { ($0.id(0, as: SeriesID.self), $0.bytes(1)) }
        }.map { ($0.0, SeriesKey.decode($0.1) ?? SeriesDescription()) }
    }

    /// Returns a series of a group whose title matches a pattern, and whether all of them do.
    func match(_ pattern: TitlePattern, in group: GroupID) throws(SQLiteError) -> (sample: SeriesID?, isAll: Bool) {
        var (sample, isAll) = (SeriesID?.none, true)
        var next: SeriesID = 0
        while true {
            let some = try series(of: group, above: next, limit: StoreWriter.seriesPerCorrection)
            for series in some {
                if pattern.matches(RecordCommit.title(of: series.description)) {
                    sample = sample ?? series.id
                } else {
                    isAll = false
                }
                if sample != nil, !isAll { return (sample, false) }
            }
            guard let last = some.last, some.count == StoreWriter.seriesPerCorrection else { return (sample, isAll) }
            next = last.id
        }
    }

    /// Returns some series of a group in the order of their ids, with the groups of their fingerprints.
    ///
    /// - Parameter series: Only series with a higher id are returned.
    func homes(
        ofSeriesOf group: GroupID, above series: SeriesID, limit: Int
    ) throws(SQLiteError) -> [(id: SeriesID, home: GroupID, key: [UInt8])] {
        try connection.withStatement(
            #"SELECT id, coalesce(home, "group"), key FROM series WHERE "group" = ?1 AND id > ?2 ORDER BY id LIMIT ?3"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(series, at: 2)
            statement.bind(limit, at: 3)
            return try statement.all { ($0.id(0, as: SeriesID.self), $0.id(1, as: GroupID.self), $0.bytes(2)) }
        }
    }

    /// Returns some series that have the fingerprint of a group and are in another one.
    func series(
        ofFingerprintOf group: GroupID, in holder: GroupID, limit: Int
    ) throws(SQLiteError) -> [SeriesID] {
        try connection.withStatement(#"SELECT id FROM series WHERE home = ?1 AND +"group" = ?2 LIMIT ?3"#) {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(holder, at: 2)
            statement.bind(limit, at: 3)
            return try statement.all { $0.id(0, as: SeriesID.self) }
        }
    }

    /// Returns groups and those that splits have taken out of them, directly or indirectly.
    func withSplits(_ groups: Set<GroupID>) throws(SQLiteError) -> [GroupID] {
        var (found, next) = (groups.sorted(), 0)
        var seen = groups
        var cache = PatternCache()
        while next < found.count {
            for split in try splits(of: found[next], &cache) {
                let target = try root(of: split.target)
                if seen.insert(target).inserted { found.append(target) }
            }
            next += 1
        }
        return found
    }

    /// Returns `true` if a group has at least this many series.
    func hasSeries(_ group: GroupID, _ count: Int) throws(SQLiteError) -> Bool {
        try connection.withStatement(#"SELECT 1 FROM series WHERE "group" = ?1 LIMIT 1 OFFSET ?2"#) {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(count - 1, at: 2)
            return try statement.first { _ in true } ?? false
        }
    }

    /// Returns the group that a split takes out of another one. Inserts it if it is new. Nil if that group was merged
    /// into this one.
    func splitTarget(
        of source: GroupID, _ selector: SplitSelector, _ series: SeriesDescription
    ) throws(SQLiteError) -> GroupID? {
        let owner = try connection.withStatement(
            """
            SELECT account, uid, app, fingerprint FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.id = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(source, at: 1)
            return try statement.first {
                ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2), $0.text(3))
            }
        }
        guard let (account, uid, app, fingerprint) = owner else { return nil }
        let own = selector.fingerprint(splitting: fingerprint)
        if let known = try group(account: account, fingerprint: own) {
            // A redirect from an earlier split that was undone.
            try connection.withStatement(
                "UPDATE groups SET merged_into = NULL, merged_by = NULL WHERE id = ?1 AND merged_by IS NULL"
            ) { statement throws(SQLiteError) in
                statement.bind(known, at: 1)
                try statement.run()
            }
            let root = try root(of: known)
            return root == source ? nil : root
        }
        return try insert(series, account: account, uid: uid, app: app, own, firstRecord: 0, at: 0)
    }

    /// Inserts a group with the attributes of its first series.
    ///
    /// - Parameters:
    ///   - row: The row of its first record.
    ///   - time: The time at which the record was received, in milliseconds since 1970.
    func insert(
        _ series: SeriesDescription, account: AccountID, uid: UInt32, app: String, _ fingerprint: String,
        firstRecord row: RowID, at time: Int64
    ) throws(SQLiteError) -> GroupID {
        let title = RecordCommit.title(of: series)
        let key = Fingerprint.groupKey(uid: uid, app: app, fingerprint: fingerprint)
        try connection.withStatement(
            """
            INSERT INTO groups (account, fingerprint, rule, key, title, severity, domain, code, file, line, function,
                module, first_at, first_version, last_version, first_record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15)
            """
        ) { statement throws(SQLiteError) in
            statement.bind(account, at: 1)
            statement.bind(fingerprint, at: 2)
            statement.bind(Fingerprint.rule, at: 3)
            statement.bind(Int64(bitPattern: key), at: 4)
            statement.bind(title, at: 5)
            statement.bind(Int64(series.severity.rank), at: 6)
            statement.bind(series.domain, at: 7)
            statement.bind(series.code, at: 8)
            statement.bind(series.source.fileID, at: 9)
            statement.bind(series.source.line, at: 10)
            statement.bind(series.source.function, at: 11)
            statement.bind(series.source.module, at: 12)
            statement.bind(time, at: 13)
            statement.bind(series.app.version, at: 14)
            statement.bind(row, at: 15)
            try statement.run()
        }
        return GroupID(rawValue: connection.lastInsertedRowID)
    }

    /// Turns a redirect back into a group with the state of the group that it was merged into.
    ///
    /// Its series must be moved afterwards. Until `forgetCorrection(of:)`, the group refers to the correction.
    func detach(_ group: GroupID, from target: GroupID, row: RowID) throws(SQLiteError) {
        try connection.withStatement("UPDATE groups SET merged_into = NULL WHERE id = ?1") {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            try statement.run()
        }
        let triage = TriageTable(connection: connection)
        _ = try triage.write(try triage.standing(ofGroup: target), of: group, from: row)
    }

    /// Returns `true` if a group was turned back from a merge or rule that is being undone.
    func isTurnedBack(_ group: GroupID, from correction: Int64) throws(SQLiteError) -> Bool {
        try connection.withStatement("SELECT merged_by IS ?2 AND merged_into IS NULL FROM groups WHERE id = ?1") {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(correction, at: 2)
            return try statement.first { $0.int64(0) != 0 } ?? false
        }
    }

    /// Notes that the merge of a group is undone completely.
    func forgetCorrection(of group: GroupID) throws(SQLiteError) {
        try connection.withStatement("UPDATE groups SET merged_by = NULL WHERE id = ?1 AND merged_into IS NULL") {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            try statement.run()
        }
    }

    /// Moves some series that a split has moved to a group back to the groups of their fingerprints.
    ///
    /// - Returns: The moved series by their groups, and the number and the last one of those that were examined.
    func returnHome(
        seriesOf group: GroupID, above series: SeriesID, limit: Int, from row: RowID
    ) throws(SQLiteError) -> (moved: [GroupID: [SeriesID]], count: Int, last: SeriesID?) {
        let away = try connection.withStatement(
            #"SELECT id, home FROM series WHERE "group" = ?1 AND id > ?2 AND home IS NOT NULL ORDER BY id LIMIT ?3"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(series, at: 2)
            statement.bind(limit, at: 3)
            return try statement.all { ($0.id(0, as: SeriesID.self), $0.id(1, as: GroupID.self)) }
        }
        var roots: [GroupID: GroupID] = [:]
        var groups: [GroupID: [SeriesID]] = [:]
        for (series, home) in away {
            let root = if let known = roots[home] { known } else { try root(of: home) }
            roots[home] = root
            groups[root, default: []].append(series)
        }
        groups[group] = nil
        for (target, series) in groups { try move(series, from: group, to: target, from: row) }
        return (groups, away.count, away.last?.0)
    }

    /// Returns the attributes of a group by its series; nil if it has none.
    ///
    /// Examines all of its series, so the daemon calls this on a thread for queries if there may be many.
    func attributes(of group: GroupID) throws(SQLiteError) -> GroupAttributes? {
        let first = try connection.withStatement(
            #"SELECT key FROM series WHERE "group" = ?1 AND key <> x'' ORDER BY home IS NOT NULL, id LIMIT 1"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.first { SeriesKey.decode($0.bytes(0)) } ?? nil
        }
        guard let first else { return nil }
        return try connection.withStatement(
            """
            SELECT max(severity), min(first_at), max(id),
                (SELECT version FROM series WHERE "group" = ?1 ORDER BY id LIMIT 1),
                (SELECT version FROM series WHERE "group" = ?1 AND version IS NOT NULL ORDER BY id DESC LIMIT 1)
            FROM series WHERE "group" = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.first { row in
                GroupAttributes(
                    first: first, severity: row.int64(0), firstAt: row.int64(1), firstVersion: row.optionalText(3),
                    lastVersion: row.optionalText(4), last: row.id(2))
            }
        }
    }

    /// Gives a group the title of its first series and the severity, versions and first time of all of its series.
    ///
    /// Series that arrived after the attributes were read count, too.
    func describe(_ group: GroupID, _ attributes: GroupAttributes?) throws(SQLiteError) {
        guard let attributes else { return }
        try connection.withStatement(
            """
            UPDATE groups SET title = ?2, domain = ?3, code = ?4, file = ?5, line = ?6, function = ?7, module = ?8,
                severity = max(?9, coalesce((SELECT max(severity) FROM series WHERE "group" = ?1 AND id > ?13), 0)),
                first_at = ?10, first_version = ?11,
                last_version = coalesce((
                    SELECT version FROM series WHERE "group" = ?1 AND id > ?13 AND version IS NOT NULL
                    ORDER BY id DESC LIMIT 1), ?12)
            WHERE id = ?1 AND merged_into IS NULL
            """
        ) { statement throws(SQLiteError) in
            let first = attributes.first
            statement.bind(group, at: 1)
            statement.bind(RecordCommit.title(of: first), at: 2)
            statement.bind(first.domain, at: 3)
            statement.bind(first.code, at: 4)
            statement.bind(first.source.fileID, at: 5)
            statement.bind(first.source.line, at: 6)
            statement.bind(first.source.function, at: 7)
            statement.bind(first.source.module, at: 8)
            statement.bind(attributes.severity, at: 9)
            statement.bind(attributes.firstAt, at: 10)
            statement.bind(attributes.firstVersion, at: 11)
            statement.bind(attributes.lastVersion, at: 12)
            statement.bind(attributes.last, at: 13)
            try statement.run()
        }
    }

    // MARK: New series

    /// Returns the split that applies to a new series of a group; nil if there is none.
    func split(
        of group: GroupID, _ series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        Self.match(series, in: try splits(of: group, &cache))
    }

    /// Returns the splits of a group, newest first.
    func splits(of group: GroupID, _ cache: inout PatternCache) throws(SQLiteError) -> [PatternCache.Entry] {
        if let known = cache.splits[group] { return known }
        let splits = try patterns(
            in: "SELECT id, target, pattern FROM corrections WHERE source = ?1 AND kind = 2 ORDER BY id DESC",
            group.rawValue)
        cache.splits.insert(splits, for: group)
        return splits
    }

    /// Returns the rule that applies to a series of a new group; nil if there is none.
    func rule(
        account: AccountID, _ series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        let rules: [PatternCache.Entry]
        if let known = cache.rules[account] {
            rules = known
        } else {
            rules = try patterns(
                in: "SELECT id, target, pattern FROM corrections WHERE account = ?1 AND kind = 3 ORDER BY id DESC",
                account.rawValue)
            cache.rules.insert(rules, for: account)
        }
        return Self.match(series, in: rules)
    }

    private static func match(
        _ series: SeriesDescription, in entries: [PatternCache.Entry]
    ) -> (id: Int64, target: GroupID)? {
        guard !entries.isEmpty else { return nil }
        var fields = SplitSelector.Fields(series, title: RecordCommit.title(of: series))
        return entries.first { $0.selector.matches(&fields) }.map { ($0.id, $0.target) }
    }

    private func patterns(in sql: StaticString, _ id: Int64) throws(SQLiteError) -> [PatternCache.Entry] {
        try connection.withStatement(sql) { statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            return try statement.all { ($0.int64(0), $0.id(1, as: GroupID.self), $0.text(2)) }
        }.compactMap { row in
            SplitSelector(stored: row.2).map { PatternCache.Entry(id: row.0, target: row.1, selector: $0) }
        }
    }

    /// Returns the values of each field in a group with the oldest series of each, that of the oldest series first.
    ///
    /// - Parameter limit: The maximum number of values per field that are returned.
    func values(
        ofGroup group: GroupID, limit: Int
    ) throws(SQLiteError) -> [IssueSplitField: [(value: String, sample: SeriesID)]] {
        var values: [IssueSplitField: [(value: String, sample: SeriesID)]] = [:]
        var seen: [IssueSplitField: Set<String>] = [:]
        var next: SeriesID = 0
        while true {
            let some = try series(of: group, above: next, limit: StoreWriter.seriesPerCorrection)
            for series in some {
                var fields = SplitSelector.Fields(series.description, title: RecordCommit.title(of: series.description))
                for field in IssueSplitField.allCases where values[field, default: []].count < limit {
                    let value = fields[field]
                    guard seen[field, default: []].insert(value).inserted else { continue }
                    values[field, default: []].append((value, series.id))
                }
            }
            guard let last = some.last, some.count == StoreWriter.seriesPerCorrection else { return values }
            next = last.id
        }
    }

    /// Counts a series that corrections have moved.
    func count(hitsOf corrections: [Int64]) throws(SQLiteError) {
        guard !corrections.isEmpty else { return }
        try connection.withStatement(
            "UPDATE corrections SET hits = hits + 1 WHERE id IN (SELECT value FROM json_each(?1))"
        ) { statement throws(SQLiteError) in
            statement.bind(StoreWriter.list(corrections), at: 1)
            try statement.run()
        }
    }

    /// Makes a group without series a redirect, because a rule matches its title.
    func redirectNew(_ group: GroupID, to target: GroupID, by correction: Int64) throws(SQLiteError) {
        try connection.withStatement(
            """
            UPDATE groups SET merged_into = ?2, merged_by = ?3, title = '', domain = NULL, code = NULL, file = NULL,
                line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL
            WHERE id = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(target, at: 2)
            statement.bind(correction, at: 3)
            try statement.run()
        }
    }
}

extension GroupTable {
    /// Returns the group that the records of a fingerprint belong to, after all corrections. Nil if it is a new one.
    ///
    /// - Parameters:
    ///   - home: The group that has the fingerprint; nil if there is none.
    ///   - account: The account.
    ///   - series: The series of the records, whose title is compared with patterns.
    ///   - cache: The patterns that were read before.
    func known(
        home: GroupID?, account: AccountID, series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> RecordCommit.KnownGroup? {
        var known: RecordCommit.KnownGroup
        if let home {
            known = RecordCommit.KnownGroup(id: home, home: home, isWatched: false)
        } else if let rule = try rule(account: account, series, &cache) {
            known = RecordCommit.KnownGroup(id: rule.target, home: nil, isWatched: false, corrections: [rule.id])
        } else {
            return nil
        }
        // A group is merged or split by one correction at most, and none leads back.
        while true {
            let row = try connection.withStatement(
                """
                SELECT merged_into, state <> 0, merged_by,
                       EXISTS (SELECT 1 FROM corrections WHERE source = ?1 AND kind = 2), severity
                FROM groups WHERE id = ?1
                """
            ) { statement throws(SQLiteError) in
                statement.bind(known.id, at: 1)
                return try statement.first {
                    (
                        $0.optionalID(0, as: GroupID.self), $0.int64(1) != 0, $0.optionalInt64(2), $0.int64(3) != 0,
                        $0.int64(4) >= Int64(IssueLevel.critical.rank)
                    )
                }
            }
            known.isWatched = row?.1 ?? false
            known.isCritical = row?.4 ?? false
            if let target = row?.0 {
                known.id = target
                if let correction = row?.2 { known.corrections.append(correction) }
            } else if row?.3 == true,
                let split = try split(of: known.id, series, &cache),
                !known.corrections.contains(split.id)
            {
                known.id = split.target
                known.corrections.append(split.id)
            } else {
                return known
            }
        }
    }
}

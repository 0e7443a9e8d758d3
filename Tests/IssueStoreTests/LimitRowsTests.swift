import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("The stored state of the limiter")
struct LimitRowsTests {
    private func save(_ changes: AdmissionChanges, _ writer: StoreWriter, _ destination: Int64) throws {
        try writer.store([], changes: changes, destination: destination, at: IssueTimestamp(millisecondsSince1970: 0))
    }

    private func sorted(_ state: AdmissionState) -> AdmissionState {
        var state = state
        state.buckets.sort { "\($0.key)" < "\($1.key)" }
        state.windows.sort { "\($0.key)" < "\($1.key)" }
        return state
    }

    private func window(_ group: Int64, _ reason: SuppressionReason, count: Int64) -> WindowRow {
        var row = WindowRow(
            key: .init(group: GroupID(group), reason: reason), account: 3, start: RecordLogInstant(milliseconds: -5),
            due: RecordLogInstant(milliseconds: 60_000), interval: .seconds(120), sequence: 9)
        row.suppressedCount = count
        row.suppressedOccurrences = count * 7
        row.forwardedCount = 2
        row.occurrences = .max
        row.firstSeen = RecordLogInstant(milliseconds: 11)
        row.lastSeen = RecordLogInstant(milliseconds: .max)
        row.samples = [1, 2, .max]
        row.maxSeverity = .critical
        row.isGroupEvicted = count.isMultiple(of: 2)
        return row
    }

    @Test("The stored state of the limiter is read as it was saved, for rows of every kind")
    func readsBack() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var changes = AdmissionChanges()
            let levels: [Double] = [0, 0.1, 5, 1.0 / 3, 1e-12, 123_456_789.000001, 1e300]
            for (index, level) in levels.enumerated() {
                for role in BucketRole.allCases {
                    let account: AccountID? = index == 0 ? nil : AccountID(index << 40)
                    changes.buckets.append(
                        BucketRow(
                            key: .init(account: account, role: role), level: level,
                            maxLevel: index == 2 ? 5.5 : nil, at: .init(milliseconds: -1),
                            uses: account == nil ? [.init(user: 0, tokens: 1.0 / 3), .init(user: .max, tokens: 7)] : [])
                    )
                }
                changes.groups.append(
                    GroupRow(
                        group: GroupID(index + 1), account: 2, lastRecord: RowID(100 - index), occurrences: .max,
                        suppressedBefore: 4, sequences: index == 0 ? [:] : [.groupRate: 1, .cardinality: .max],
                        level: index == 1 ? nil : level, maxLevel: index == 3 ? 7 : nil, at: .init(milliseconds: 7)))
            }
            for (index, reason) in SuppressionReason.allCases.enumerated() {
                changes.windows.append(window(1 << 50, reason, count: Int64(index)))
            }
            changes.accountSequences = [1: 5, AccountID(1 << 50 as Int64): .max]
            try save(changes, writer, 1)
            try save(AdmissionChanges(), writer, 2)

            var expected = AdmissionState()
            expected.apply(changes)
            let reader = try store.reader()
            #expect(sorted(try reader.admissionState(of: 1)) == sorted(expected))
            #expect(try reader.admissionState(of: 2) == AdmissionState())

            var next = AdmissionChanges()
            next.buckets = [BucketRow(key: .init(account: nil, role: .common), level: 9, at: .init(milliseconds: 9))]
            next.groups = [changes.groups[3]]
            next.groups[0].lastRecord = 1000
            // One window closes, and another closes and is opened again at once.
            next.closedWindows = [changes.windows[0].key, changes.windows[1].key]
            next.windows = [window(1 << 50, changes.windows[1].key.reason, count: 77)]
            next.accountSequences = [1: 6]
            try save(next, writer, 1)
            expected.apply(next)
            #expect(sorted(try reader.admissionState(of: 1)) == sorted(expected))
        }
    }

    @Test("The stored state of the limiter lets a limiter continue after a restart")
    func goesOn() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try SentLog.filled(store, writer)
            let reader = try store.reader()
            var live = Admission(settings: LimitSettings(), state: AdmissionState())
            var cursor: RowID = 0
            while true {
                let walked = try reader.walk(after: cursor, limit: 50)
                guard let last = walked.last?.candidate.record else { break }
                for record in walked { _ = live.evaluate(record.candidate, at: record.at) }
                try save(live.takeChanges(), writer, 1)
                cursor = last
            }
            let state = try reader.admissionState(of: 1)
            #expect(!state.buckets.isEmpty && !state.groups.isEmpty && !state.windows.isEmpty)
            var restored = Admission(settings: LimitSettings(), state: state)
            let at = RecordLogInstant(milliseconds: store.wall.millisecondsSince1970 + 1000)
            for number in 0..<200 {
                let group = state.groups[number % state.groups.count]
                let candidate = AdmissionCandidate(
                    record: cursor + number + 1, group: group.group, account: group.account, user: 1000,
                    severity: .error, isFirstOfGroup: false)
                #expect(live.evaluate(candidate, at: at) == restored.evaluate(candidate, at: at))
            }
        }
    }

    @Test("The stored state of the limiter is read without its unreadable rows")
    func survivesDamage() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            var changes = AdmissionChanges()
            changes.buckets = [BucketRow(key: .init(account: 1, role: .critical), level: 2, at: .init(milliseconds: 3))]
            try save(changes, writer, 1)
            try store.shell().execute(
                """
                INSERT INTO limits VALUES (1, 0, 7, '{}'), (1, 0, 15, 'no json'), (1, 1, 5, '{"account":1}'),
                    (1, 2, 7, '{"account":1,"start":1,"due":2}'), (1, 3, 9, '"x"'), (1, 99, 1, '{}'), (1, -1, 1, '{}')
                """)
            let state = try store.reader().admissionState(of: 1)
            #expect(state == AdmissionState(buckets: changes.buckets))
        }
    }
}

extension AdmissionState {
    /// Applies changes to the state, as if they had been stored and loaded.
    mutating func apply(_ changes: AdmissionChanges) {
        let touched = Set(changes.buckets.map(\.key))
        buckets = buckets.filter { !touched.contains($0.key) } + changes.buckets
        let changed = Set(changes.groups.map(\.group))
        groups = (groups.filter { !changed.contains($0.group) } + changes.groups)
            .sorted { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
        let moved = Set(changes.windows.map(\.key)).union(changes.closedWindows)
        windows = windows.filter { !moved.contains($0.key) } + changes.windows
        accountSequences.merge(changes.accountSequences) { $1 }
    }
}

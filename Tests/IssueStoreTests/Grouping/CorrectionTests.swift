import Foundation
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Corrections of the grouping")
struct CorrectionTests {
    private func record(_ message: String, version: String = "1.0", fingerprint: String? = nil) -> IssueRecord {
        var record = IssueRecord(message: message, app: Application(name: "shop", version: version))
        record.fingerprint = fingerprint
        return record
    }

    private func groups(_ store: TemporaryStore) throws -> [IssueGroup] {
        try store.reader().groups(
            .init(
                filter: IssueFilter(), order: .oldest, limit: 1000, after: nil, sparkline: nil, now: store.wall),
            viewer: .everything
        ).groups
    }

    private func counts(_ store: TemporaryStore) throws -> [String: Int] {
        Dictionary(try groups(store).map { ($0.title, $0.records) }) { $0 + $1 }
    }

    private func group(_ title: String, _ store: TemporaryStore) throws -> GroupID {
        let id = try #require(try groups(store).first { $0.title == title }).id
        return try store.reader().group(withOwnID: id, viewer: .everything)
    }

    private func author(_ store: TemporaryStore, _ reason: String? = nil) -> StoreWriter.CorrectionAuthor {
        StoreWriter.CorrectionAuthor(uid: 1000, at: store.wall, reason: reason)
    }

    private func corrections(_ store: TemporaryStore) throws -> [GroupCorrection] {
        try store.reader().corrections(viewer: .everything)
    }

    private func withThree(_ body: (TemporaryStore, StoreWriter) throws -> Void) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["User ann is gone", "User bob is gone", "Disk full"] {
                try store.store([record(message)], to: writer)
            }
            try body(store, writer)
            try expectSound(store)
        }
    }

    @Test("A merge moves existing and future records, and undoing it moves them back, also after a restart")
    func merge() throws {
        try withThree { store, writer in
            let before = try groups(store)
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            #expect(try writer.merge([bob], into: ann, by: author(store, "same person")) == [1])
            // Merging again changes nothing.
            #expect(try writer.merge([bob], into: ann, by: author(store))?.count == 0)
            try store.store([record("User bob is gone"), record("User bob is gone", version: "2.0")], to: writer)
            #expect(try counts(store) == ["User ann is gone": 4, "Disk full": 1])
            let correction = try #require(try corrections(store).first)
            #expect(correction.kind == .merge)
            #expect(correction.group == before[0].id)
            #expect(correction.other == before[1].id)
            #expect(correction.author == 1000)
            #expect(correction.reason == "same person")
            #expect(correction.hits == 1)
            let next = try store.writer()
            #expect(try store.reader().show(before[1].id, viewer: .everything).group.id == before[0].id)
            #expect(Set(try #require(try next.undo(correction: correction.id))) == [ann, bob])
            try store.store([record("User bob is gone", version: "3.0")], to: next)
            #expect(try counts(store) == ["User ann is gone": 1, "User bob is gone": 4, "Disk full": 1])
            #expect(try groups(store).map(\.id) == before.map(\.id))
            #expect(try groups(store)[0] == before[0])
            #expect(try corrections(store) == [])
            #expect(try next.undo(correction: correction.id) == nil)
        }
    }

    @Test("Merges of merged groups are undone one by one, in any order", arguments: [1, 2] as [Int64])
    func chains(first: Int64) throws {
        try withThree { store, writer in
            let ids = try ["User ann is gone", "User bob is gone", "Disk full"].map { try group($0, store) }
            #expect(try writer.merge([ids[0]], into: ids[1], by: author(store)) == [1])
            #expect(try writer.merge([ids[1]], into: ids[2], by: author(store)) == [2])
            #expect(try counts(store) == ["Disk full": 3])
            // A cycle is impossible: they are one group.
            #expect(try writer.merge([ids[2]], into: ids[0], by: author(store))?.count == 0)
            _ = try writer.undo(correction: first)
            #expect(
                try counts(store)
                    == (first == 1
                        ? ["Disk full": 2, "User ann is gone": 1] : ["Disk full": 1, "User bob is gone": 2]))
            let target = first == 1 ? ids[2] : ids[1]
            #expect(try writer.undoMerges(of: target).count == 2)
            #expect(try counts(store) == ["Disk full": 1, "User ann is gone": 1, "User bob is gone": 1])
            #expect(try writer.undoMerges(of: target).isEmpty)
        }
    }

    @Test("The merged group has the state that alerts sooner, and both have it after the merge is undone")
    func states() throws {
        try withThree { store, writer in
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            #expect(try writer.set(TriageState(.muted), ofGroup: ann))
            #expect(try writer.set(TriageState(.resolved), ofGroup: bob))
            _ = try writer.merge([bob], into: ann, by: author(store))
            #expect(try groups(store)[0].state == .resolved)
            _ = try writer.undoMerges(of: ann)
            #expect(try groups(store).prefix(2).map(\.state) == [.resolved, .resolved])
            // The caches have the new state, too.
            try store.store([record("User bob is gone")], to: writer)
            #expect(try groups(store).first { $0.title == "User bob is gone" }?.hasRegressed == true)
        }
    }

    @Test("A split gives matching records of one fingerprint a group of their own, until it is undone")
    func split() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["Read of /a failed", "Write of /b failed"] {
                try store.store([record(message, fingerprint: "io")], to: writer)
            }
            let original = try #require(try groups(store).first)
            let source = try store.reader().group(withOwnID: original.id, viewer: .everything)
            let pattern = try #require(TitlePattern("Write *"))
            #expect(try writer.split(source, by: try #require(TitlePattern("x*")), author(store)) == .noMatch)
            #expect(try writer.split(source, by: try #require(TitlePattern("*of*")), author(store)) == .allMatch)
            guard case .done(let other) = try writer.split(source, by: pattern, author(store)) else {
                Issue.record("not split")
                return
            }
            #expect(other != source)
            try store.store(
                [
                    record("Write of /c failed", version: "2.0", fingerprint: "io"),
                    record("Read of /c failed", version: "2.0", fingerprint: "io"),
                ], to: writer)
            #expect(try counts(store) == ["Read of <path> failed": 2, "Write of <path> failed": 2])
            let correction = try #require(try corrections(store).first)
            #expect(correction.kind == .split)
            #expect(correction.hits == 1)
            let split = try #require(try groups(store).first { $0.title.hasPrefix("Write") })
            let explanation = try store.reader().explain(split.id, viewer: .everything)
            #expect(explanation.fingerprint == "io")
            #expect(explanation.isChosen)
            #expect(explanation.corrections == [correction])
            _ = try writer.undo(correction: correction.id)
            try store.store([record("Write of /d failed", version: "3.0", fingerprint: "io")], to: writer)
            #expect(try groups(store).map(\.id) == [original.id])
            #expect(try groups(store).map(\.records) == [5])
            // The id of the group that was split off leads to the original one.
            #expect(try store.reader().show(split.id, viewer: .everything).group.id == original.id)
            // And it can be split again.
            guard case .done(other) = try writer.split(source, by: pattern, author(store)) else {
                Issue.record("not split again")
                return
            }
            #expect(try groups(store).count == 2)
            try expectSound(store)
        }
    }

    @Test("An explanation lists the corrections that apply to a record, in their order, and no others")
    func explanation() throws {
        try withThree { store, writer in
            let ids = try ["User ann is gone", "User bob is gone", "Disk full"].map { try group($0, store) }
            _ = try writer.merge([ids[1]], into: ids[0], by: author(store))
            guard
                case .done(let split) = try writer.split(
                    ids[0], by: try #require(TitlePattern("*bob*")), author(store))
            else {
                Issue.record("not split")
                return
            }
            _ = try writer.merge([split], into: ids[2], by: author(store))
            let kinds = try store.reader().records(
                .init(filter: IssueFilter(), isAscending: true, limit: 9, after: nil), viewer: .everything
            ).records.map { try store.reader().explain($0.id, viewer: .everything).corrections.map(\.kind) }
            #expect(kinds == [[], [.merge, .split, .merge], []])
        }
    }

    @Test("A split by a field gives each value a group of its own, also for future records, until it is undone")
    func splitByField() throws {
        try TemporaryStore.with { store in
            func record(_ domain: String?, _ version: String = "1.0") -> IssueRecord {
                var record = self.record("Failed", version: version, fingerprint: "io")
                record.domain = domain
                return record
            }
            let writer = try store.writer()
            for domain in ["disk", nil, "net", "disk"] { try store.store([record(domain)], to: writer) }
            let original = try #require(try groups(store).first)
            let reader = try store.reader()
            let source = try reader.group(withOwnID: original.id, viewer: .everything)
            let values = try reader.values(ofGroup: source, limit: 100)
            #expect(values[.domain]?.map(\.value) == ["disk", "", "net"])
            #expect(values[.title]?.map(\.value) == ["Failed"])
            #expect(try reader.values(ofGroup: source, limit: 2)[.domain]?.count == 2)
            #expect(try writer.split(source, by: .title, author(store)) == [source])
            let made = try #require(try writer.split(source, by: .domain, author(store)))
            #expect(made.count == 3 && made[0] == source)
            // A new version has new series; a value that was not there stays in the original group.
            for domain in ["disk", nil, "net", "other"] { try store.store([record(domain, "2.0")], to: store.writer()) }
            func counts() throws -> [String: Int] {
                Dictionary(uniqueKeysWithValues: try groups(store).map { ($0.domain ?? "", $0.records) })
            }
            #expect(try counts() == ["disk": 4, "": 2, "net": 2])
            let listed = try corrections(store)
            #expect(listed.map(\.field) == [.domain, .domain])
            #expect(listed.map(\.template) == ["net", ""])
            #expect(listed.map(\.hits) == [1, 1])
            let next = try store.writer()
            for correction in listed { _ = try next.undo(correction: correction.id) }
            #expect(try groups(store).map(\.records) == [8])
            #expect(try groups(store).map(\.id) == [original.id])
            #expect(try next.split(source, by: .version, author(store))?.count == 2)
            try expectSound(store)
        }
    }

    @Test("If the records of a merged group are split off, undoing the merge gives them back to that group and its id")
    func unmergedAfterSplit() throws {
        try withThree { store, writer in
            let before = try groups(store)
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            _ = try writer.merge([bob], into: ann, by: author(store))
            guard case .done = try writer.split(ann, by: try #require(TitlePattern("*bob*")), author(store)) else {
                Issue.record("not split")
                return
            }
            #expect(try groups(store).count == 3)
            #expect(try writer.undoMerges(of: bob).contains(bob))
            #expect(try groups(store).map(\.id) == before.map(\.id))
            try store.store([record("User bob is gone", version: "2.0")], to: writer)
            #expect(try store.reader().show(before[1].id, viewer: .everything).group.records == 2)
        }
    }

    @Test("A group that was split off gets its records back when its merge is undone", arguments: [false, true])
    func unmergedSplit(intoSource: Bool) throws {
        try withThree { store, writer in
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            _ = try writer.merge([bob], into: ann, by: author(store))
            guard case .done(let split) = try writer.split(ann, by: try #require(TitlePattern("*bob*")), author(store))
            else {
                Issue.record("not split")
                return
            }
            let before = try groups(store)
            let target = intoSource ? ann : try group("Disk full", store)
            #expect(try writer.merge([split], into: target, by: author(store))?.count == 1)
            #expect(try groups(store).count == before.count - 1)
            let newest = try #require(try corrections(store).first)
            #expect(newest.kind == .merge)
            #expect(try writer.undo(correction: newest.id)?.contains(split) == true)
            #expect(try groups(store).map(\.id) == before.map(\.id))
            #expect(try groups(store).map(\.records) == before.map(\.records))
            #expect(try groups(store).map(\.title) == before.map(\.title))
            try store.store([record("User bob is gone", version: "2.0")], to: writer)
            let count = try writer.connection.first(#"SELECT count(*) FROM series WHERE "group" = ?1"#, split) {
                $0.int64(0)
            }
            #expect(count == 2)
            try expectSound(store)
        }
    }

    @Test("The selector of a split is read as it was stored, and no pattern for titles is mistaken for a field")
    func selectors() throws {
        let all = IssueSplitField.allCases.flatMap {
            [SplitSelector.field($0, value: "a\u{1}*"), .field($0, value: "")]
        }
        for selector in all + [.title(try #require(TitlePattern("a*")))] {
            #expect(SplitSelector(stored: selector.stored) == selector)
        }
        #expect(Set(all.map { $0.fingerprint(splitting: "f") }).count == all.count)
        #expect(TitlePattern("\u{1}domain\u{1}x") == nil)
        #expect(SplitSelector(stored: "\u{1}domain") == nil)
        #expect(SplitSelector(stored: "\u{1}metadata\u{1}x") == nil)
    }

    @Test("A rule merges matching groups, including future ones, until it is undone")
    func rule() throws {
        try withThree { store, writer in
            let reader = try store.reader()
            let target = try reader.subject(try groups(store)[0].id, viewer: .everything)
            let pattern = try #require(TitlePattern("User * is gone"))
            let matching = try reader.groups(of: target, matching: pattern, limit: 10)
            #expect(matching == [try group("User bob is gone", store)])
            #expect(try writer.addRule(pattern, merging: matching, into: target.group, by: author(store)) != nil)
            var announced: [RowID] = []
            writer.callbacks.onPriorityRecords = { announced += $0.map(\.row) }
            try store.store([record("User carl is gone"), record("User dora is gone")], to: writer)
            #expect(announced.isEmpty)
            #expect(try counts(store) == ["User ann is gone": 4, "Disk full": 1])
            let rule = try #require(try corrections(store).first)
            #expect(rule.kind == .rule)
            #expect(rule.hits == 2)
            #expect(try reader.explain(try groups(store)[0].id, viewer: .everything).corrections == [rule])
            _ = try writer.undo(correction: rule.id)
            #expect(
                try counts(store) == [
                    "User ann is gone": 1, "User bob is gone": 1, "User carl is gone": 1, "User dora is gone": 1,
                    "Disk full": 1,
                ])
        }
    }

    @Test("Other users neither see nor find corrections")
    func viewers() throws {
        try withThree { store, writer in
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            _ = try writer.merge([bob], into: ann, by: author(store))
            let reader = try store.reader()
            let id = try #require(try corrections(store).first).id
            #expect(try reader.corrections(viewer: .user(1000)).count == 1)
            #expect(try reader.corrections(viewer: .user(1001)) == [])
            #expect(try reader.owner(ofCorrection: id, viewer: .user(1000)) == 1000)
            #expect(try reader.owner(ofCorrection: id, viewer: .user(1001)) == nil)
            #expect(throws: QueryFailure.self) {
                try reader.explain(try groups(store)[0].id, viewer: .user(1001))
            }
            #expect(try reader.suggestions(app: nil, limit: 9, viewer: .user(1001)) == [])
        }
    }

    @Test("Suggestions name pairs of open groups of one application, and merge nothing")
    func suggestions() throws {
        try withThree { store, _ in
            let before = try groups(store)
            let found = try store.reader().suggestions(app: nil, limit: 9, viewer: .everything)
            #expect(
                found == [
                    MergeSuggestion(
                        groups: [before[0].id, before[1].id], titles: ["User ann is gone", "User bob is gone"],
                        words: ["ann", "bob"], app: "shop")
                ])
            #expect(try store.reader().suggestions(app: "other", limit: 9, viewer: .everything) == [])
            #expect(try groups(store) == before)
        }
    }

    @Test("Erasing all records of a merged group also erases its corrections")
    func retention() throws {
        try withThree { store, writer in
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            _ = try writer.merge([bob], into: ann, by: author(store, "secret"))
            try writer.closeOpenRange()
            let erasure = try writer.erase([1, 2])
            try writer.finishErasing(erasure.series.sorted(), isWhole: true)
            #expect(try counts(store) == ["Disk full": 1])
            #expect(try store.shell().number("SELECT count(*) FROM corrections") == 0)
            try store.store([record("User bob is gone")], to: writer)
            #expect(try counts(store) == ["User bob is gone": 1, "Disk full": 1])
        }
    }

    @Test("An import from a set-aside database restores corrections and ids")
    func importing() throws {
        try TemporaryStore.with { store in
            var ids: [String] = []
            do {
                let writer = try store.writer()
                for message in ["User ann is gone", "User bob is gone", "Disk 1 full"] {
                    try store.store([record(message)], to: writer)
                }
                for message in ["Read of /a failed", "Write of /b failed"] {
                    try store.store([record(message, fingerprint: "io")], to: writer)
                }
                try writer.connection.execute("UPDATE groups SET key = 42 WHERE title LIKE 'Disk%'")
                let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
                ids = try groups(store).map(\.id)
                _ = try writer.merge([bob], into: ann, by: author(store, "same person"))
                _ = try writer.addRule(
                    try #require(TitlePattern("Disk*")), merging: [], into: ann, by: author(store))
                _ = try writer.split(
                    try group("Read of <path> failed", store), by: try #require(TitlePattern("Write*")), author(store))
            }
            let before = try corrections(store)
            #expect(before.count == 3)
            let old = store.folder + "/issues.db.damaged-test"
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: store.path + ending) {
                try FileManager.default.moveItem(atPath: store.path + ending, toPath: old + ending)
            }
            store.settings.randomBits = { 0x1111_1111_1111_1111 }
            let writer = try store.writer()
            let file = try SetAsideStore(path: old, randomBits: 42)
            while let portion = file.step() {
                if !portion.submissions.isEmpty {
                    _ = try writer.importSalvaged(portion.submissions, wall: store.wall, monotonic: store.monotonic)
                }
            }
            for _ in 0..<2 {
                let found = try #require(file.ids(above: 0))
                try writer.importSalvaged(found.items)
                #expect(file.ids(above: found.last) == nil)
                try writer.importSalvaged(try #require(file.corrections(above: 0)).items)
            }
            #expect(try corrections(store) == before)
            // The rule now merges the group that existed before it.
            #expect(
                try counts(store) == [
                    "User ann is gone": 3, "Read of <path> failed": 1, "Write of <path> failed": 1,
                ])
            let reader = try store.reader()
            for id in ids.prefix(3) { #expect(try reader.show(id, viewer: .everything).group.id == ids[0]) }
            #expect(ids[2] == "g000000000000002a")
            try expectSound(store)
        }
    }

    @Test("A failed correction leaves no trace")
    func rollback() throws {
        try withThree { store, writer in
            let before = try groups(store)
            let (ann, bob) = (try group("User ann is gone", store), try group("User bob is gone", store))
            try writer.connection.execute(
                "CREATE TEMP TRIGGER fails BEFORE INSERT ON moves BEGIN SELECT RAISE(ABORT, 'no'); END")
            #expect(throws: StoreFailure.self) { try writer.merge([bob], into: ann, by: author(store)) }
            try writer.connection.execute("DROP TRIGGER fails")
            #expect(try groups(store) == before)
            #expect(try corrections(store) == [])
            #expect(try writer.merge([bob], into: ann, by: author(store))?.count == 1)
        }
    }
}

import Foundation
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Corrections of the grouping")
struct CorrectionTests {
    private func counts(_ store: TemporaryStore) throws -> [String: Int] {
        Dictionary(try store.groups().map { ($0.title, $0.records) }) { $0 + $1 }
    }

    private func corrections(_ store: TemporaryStore) throws -> [GroupCorrection] {
        try store.reader().corrections(viewer: .everything)
    }

    private func withThree(_ body: (TemporaryStore, StoreWriter) throws -> Void) throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["User ann is gone", "User bob is gone", "Disk full"] {
                try store.store([.shop(message)], to: writer)
            }
            try body(store, writer)
            try expectSound(store)
        }
    }

    @Test("A merge moves existing and future records, and undoing it moves them back, also after a restart")
    func merge() throws {
        try withThree { store, writer in
            let before = try store.groups()
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            #expect(try writer.merge([bob], into: ann, by: store.author("same person")) == [1])
            // Merging again changes nothing.
            #expect(try writer.merge([bob], into: ann, by: store.author())?.count == 0)
            try store.store([.shop("User bob is gone"), .shop("User bob is gone", version: "2.0")], to: writer)
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
            try store.store([.shop("User bob is gone", version: "3.0")], to: next)
            #expect(try counts(store) == ["User ann is gone": 1, "User bob is gone": 4, "Disk full": 1])
            #expect(try store.groups().map(\.id) == before.map(\.id))
            #expect(try store.groups()[0] == before[0])
            #expect(try corrections(store) == [])
            #expect(try next.undo(correction: correction.id) == nil)
        }
    }

    @Test("Merges of merged groups are undone one by one, in any order", arguments: [1, 2] as [Int64])
    func chains(first: Int64) throws {
        try withThree { store, writer in
            let ids = try ["User ann is gone", "User bob is gone", "Disk full"].map { try store.group($0) }
            #expect(try writer.merge([ids[0]], into: ids[1], by: store.author()) == [1])
            #expect(try writer.merge([ids[1]], into: ids[2], by: store.author()) == [2])
            #expect(try counts(store) == ["Disk full": 3])
            // A cycle is impossible: they are one group.
            #expect(try writer.merge([ids[2]], into: ids[0], by: store.author())?.count == 0)
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

    @Test("A merged group has the state that alerts sooner, and both groups keep this state when the merge is undone")
    func states() throws {
        try withThree { store, writer in
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            #expect(try writer.set(TriageState(.muted), ofGroup: ann))
            #expect(try writer.set(TriageState(.resolved), ofGroup: bob))
            _ = try writer.merge([bob], into: ann, by: store.author())
            #expect(try store.groups()[0].state == .resolved)
            _ = try writer.undoMerges(of: ann)
            #expect(try store.groups().prefix(2).map(\.state) == [.resolved, .resolved])
            // The caches have the new state, too.
            try store.store([.shop("User bob is gone")], to: writer)
            #expect(try store.groups().first { $0.title == "User bob is gone" }?.hasRegressed == true)
        }
    }

    @Test("A split gives matching records of one fingerprint a group of their own, until it is undone")
    func split() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            for message in ["Read of /a failed", "Write of /b failed"] {
                try store.store([.shop(message, fingerprint: "io")], to: writer)
            }
            let original = try #require(try store.groups().first)
            let source = try store.reader().group(withOwnID: original.id, viewer: .everything)
            let pattern = try #require(TitlePattern("Write *"))
            #expect(try writer.split(source, by: try #require(TitlePattern("x*")), store.author()) == .noMatch)
            #expect(try writer.split(source, by: try #require(TitlePattern("*of*")), store.author()) == .allMatch)
            guard case .done(let other) = try writer.split(source, by: pattern, store.author()) else {
                Issue.record("not split")
                return
            }
            #expect(other != source)
            try store.store(
                [
                    .shop("Write of /c failed", version: "2.0", fingerprint: "io"),
                    .shop("Read of /c failed", version: "2.0", fingerprint: "io"),
                ], to: writer)
            #expect(try counts(store) == ["Read of <path> failed": 2, "Write of <path> failed": 2])
            let correction = try #require(try corrections(store).first)
            #expect(correction.kind == .split)
            #expect(correction.hits == 1)
            let split = try #require(try store.groups().first { $0.title.hasPrefix("Write") })
            let explanation = try store.reader().explain(split.id, viewer: .everything)
            #expect(explanation.fingerprint == "io")
            #expect(explanation.isChosen)
            #expect(explanation.corrections == [correction])
            _ = try writer.undo(correction: correction.id)
            try store.store([.shop("Write of /d failed", version: "3.0", fingerprint: "io")], to: writer)
            #expect(try store.groups().map(\.id) == [original.id])
            #expect(try store.groups().map(\.records) == [5])
            // The id of the group that was split off leads to the original one.
            #expect(try store.reader().show(split.id, viewer: .everything).group.id == original.id)
            // And it can be split again.
            guard case .done(other) = try writer.split(source, by: pattern, store.author()) else {
                Issue.record("not split again")
                return
            }
            #expect(try store.groups().count == 2)
            try expectSound(store)
        }
    }

    @Test("An explanation lists the corrections that apply to a record, in their order, and no others")
    func explanation() throws {
        try withThree { store, writer in
            let ids = try ["User ann is gone", "User bob is gone", "Disk full"].map { try store.group($0) }
            _ = try writer.merge([ids[1]], into: ids[0], by: store.author())
            guard
                case .done(let split) = try writer.split(
                    ids[0], by: try #require(TitlePattern("*bob*")), store.author())
            else {
                Issue.record("not split")
                return
            }
            _ = try writer.merge([split], into: ids[2], by: store.author())
            let kinds = try store.reader().allRecords().map {
                try store.reader().explain($0.id, viewer: .everything).corrections.map(\.kind)
            }
            #expect(kinds == [[], [.merge, .split, .merge], []])
        }
    }

    @Test("A split by a field gives each value a group of its own, also for future records, until it is undone")
    func splitByField() throws {
        try TemporaryStore.with { store in
            func record(_ domain: String?, _ version: String = "1.0") -> IssueRecord {
                var record = IssueRecord.shop("Failed", version: version, fingerprint: "io")
                record.domain = domain
                return record
            }
            let writer = try store.writer()
            for domain in ["disk", nil, "net", "disk"] { try store.store([record(domain)], to: writer) }
            let original = try #require(try store.groups().first)
            let reader = try store.reader()
            let source = try reader.group(withOwnID: original.id, viewer: .everything)
            let values = try reader.values(ofGroup: source, limit: 100)
            #expect(values[.domain]?.map(\.value) == ["disk", "", "net"])
            #expect(values[.title]?.map(\.value) == ["Failed"])
            #expect(try reader.values(ofGroup: source, limit: 2)[.domain]?.count == 2)
            #expect(try writer.split(source, by: .title, store.author()) == [source])
            let made = try #require(try writer.split(source, by: .domain, store.author()))
            #expect(made.count == 3 && made[0] == source)
            // A new version has new series; a value that was not there stays in the original group.
            for domain in ["disk", nil, "net", "other"] { try store.store([record(domain, "2.0")], to: store.writer()) }
            func counts() throws -> [String: Int] {
                Dictionary(uniqueKeysWithValues: try store.groups().map { ($0.domain ?? "", $0.records) })
            }
            #expect(try counts() == ["disk": 4, "": 2, "net": 2])
            let listed = try corrections(store)
            #expect(listed.map(\.field) == [.domain, .domain])
            #expect(listed.map(\.template) == ["net", ""])
            #expect(listed.map(\.hits) == [1, 1])
            let next = try store.writer()
            for correction in listed { _ = try next.undo(correction: correction.id) }
            #expect(try store.groups().map(\.records) == [8])
            #expect(try store.groups().map(\.id) == [original.id])
            #expect(try next.split(source, by: .version, store.author())?.count == 2)
            try expectSound(store)
        }
    }

    @Test("If the records of a merged group are split off, undoing the merge gives them back to that group and its id")
    func unmergedAfterSplit() throws {
        try withThree { store, writer in
            let before = try store.groups()
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            _ = try writer.merge([bob], into: ann, by: store.author())
            guard case .done = try writer.split(ann, by: try #require(TitlePattern("*bob*")), store.author()) else {
                Issue.record("not split")
                return
            }
            #expect(try store.groups().count == 3)
            #expect(try writer.undoMerges(of: bob).contains(bob))
            #expect(try store.groups().map(\.id) == before.map(\.id))
            try store.store([.shop("User bob is gone", version: "2.0")], to: writer)
            #expect(try store.reader().show(before[1].id, viewer: .everything).group.records == 2)
        }
    }

    @Test("A group that was split off gets its records back when its merge is undone", arguments: [false, true])
    func unmergedSplit(intoSource: Bool) throws {
        try withThree { store, writer in
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            _ = try writer.merge([bob], into: ann, by: store.author())
            guard case .done(let split) = try writer.split(ann, by: try #require(TitlePattern("*bob*")), store.author())
            else {
                Issue.record("not split")
                return
            }
            let before = try store.groups()
            let target = intoSource ? ann : try store.group("Disk full")
            #expect(try writer.merge([split], into: target, by: store.author())?.count == 1)
            #expect(try store.groups().count == before.count - 1)
            let newest = try #require(try corrections(store).first)
            #expect(newest.kind == .merge)
            #expect(try writer.undo(correction: newest.id)?.contains(split) == true)
            #expect(try store.groups().map(\.id) == before.map(\.id))
            #expect(try store.groups().map(\.records) == before.map(\.records))
            #expect(try store.groups().map(\.title) == before.map(\.title))
            try store.store([.shop("User bob is gone", version: "2.0")], to: writer)
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
            let target = try reader.subject(try store.groups()[0].id, viewer: .everything)
            let pattern = try #require(TitlePattern("User * is gone"))
            let matching = try reader.groups(of: target, matching: pattern, limit: 10)
            #expect(matching == [try store.group("User bob is gone")])
            #expect(try writer.addRule(pattern, merging: matching, into: target.group, by: store.author()) != nil)
            var announced: [RowID] = []
            writer.callbacks.onPriorityRecords = { announced += $0.map(\.row) }
            try store.store([.shop("User carl is gone"), .shop("User dora is gone")], to: writer)
            #expect(announced.isEmpty)
            #expect(try counts(store) == ["User ann is gone": 4, "Disk full": 1])
            let rule = try #require(try corrections(store).first)
            #expect(rule.kind == .rule)
            #expect(rule.hits == 2)
            #expect(try reader.explain(try store.groups()[0].id, viewer: .everything).corrections == [rule])
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
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            _ = try writer.merge([bob], into: ann, by: store.author())
            let reader = try store.reader()
            let id = try #require(try corrections(store).first).id
            #expect(try reader.corrections(viewer: .user(1000)).count == 1)
            #expect(try reader.corrections(viewer: .user(1001)) == [])
            #expect(try reader.owner(ofCorrection: id, viewer: .user(1000)) == 1000)
            #expect(try reader.owner(ofCorrection: id, viewer: .user(1001)) == nil)
            #expect(throws: QueryFailure.self) {
                try reader.explain(try store.groups()[0].id, viewer: .user(1001))
            }
            #expect(try reader.suggestions(app: nil, limit: 9, viewer: .user(1001)) == [])
        }
    }

    @Test("Suggestions name pairs of groups of one application, and merge nothing")
    func suggestions() throws {
        try withThree { store, _ in
            let before = try store.groups()
            let found = try store.reader().suggestions(app: nil, limit: 9, viewer: .everything)
            #expect(
                found == [
                    MergeSuggestion(
                        groups: [before[0].id, before[1].id], titles: ["User ann is gone", "User bob is gone"],
                        words: ["ann", "bob"], app: "shop")
                ])
            #expect(try store.reader().suggestions(app: "other", limit: 9, viewer: .everything) == [])
            #expect(try store.groups() == before)
        }
    }

    @Test("Erasing all records of a merged group also erases its corrections")
    func retention() throws {
        try withThree { store, writer in
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            _ = try writer.merge([bob], into: ann, by: store.author("secret"))
            try writer.closeOpenRange()
            let erasure = try writer.erase([1, 2])
            try writer.finishErasing(erasure.series.sorted(), isWhole: true)
            #expect(try counts(store) == ["Disk full": 1])
            #expect(try store.shell().number("SELECT count(*) FROM corrections") == 0)
            try store.store([.shop("User bob is gone")], to: writer)
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
                    try store.store([.shop(message)], to: writer)
                }
                for message in ["Read of /a failed", "Write of /b failed"] {
                    try store.store([.shop(message, fingerprint: "io")], to: writer)
                }
                try writer.connection.execute("UPDATE groups SET key = 42 WHERE title LIKE 'Disk%'")
                let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
                ids = try store.groups().map(\.id)
                _ = try writer.merge([bob], into: ann, by: store.author("same person"))
                _ = try writer.addRule(
                    try #require(TitlePattern("Disk*")), merging: [], into: ann, by: store.author())
                _ = try writer.split(
                    try store.group("Read of <path> failed"), by: try #require(TitlePattern("Write*")), store.author())
            }
            let before = try corrections(store)
            #expect(before.count == 3)
            let old = try store.setAside()
            let writer = try store.writer()
            #expect(try store.importSalvaged(old, into: writer) == SalvageResult(recovered: 5))
            let file = try SetAsideStore(path: old, randomBits: 42)
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
            let before = try store.groups()
            let (ann, bob) = (try store.group("User ann is gone"), try store.group("User bob is gone"))
            try writer.connection.execute(
                "CREATE TEMP TRIGGER fails BEFORE INSERT ON moves BEGIN SELECT RAISE(ABORT, 'no'); END")
            #expect(throws: StoreFailure.self) { try writer.merge([bob], into: ann, by: store.author()) }
            try writer.connection.execute("DROP TRIGGER fails")
            #expect(try store.groups() == before)
            #expect(try corrections(store) == [])
            #expect(try writer.merge([bob], into: ann, by: store.author())?.count == 1)
        }
    }
}

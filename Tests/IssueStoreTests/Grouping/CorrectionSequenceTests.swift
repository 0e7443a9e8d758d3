import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueCore
@testable import IssueStore

@Suite("Random sequences of corrections")
struct CorrectionSequenceTests {
    private static let words = ["alpha", "beta", "gamma", "delta"]

    /// A store with five issues: one with a chosen fingerprint, whose records have a title for each word, and one issue
    /// for each word.
    private struct Fixture {
        let store: TemporaryStore
        let writer: StoreWriter
        /// The ids of all groups that were listed so far.
        var ids: Set<String> = []
        var version = 0

        init(_ store: TemporaryStore) throws {
            self.store = store
            writer = try store.writer()
            try report()
        }

        /// Reports each message with a new version, so that each record is of a new series.
        mutating func report() throws {
            version += 1
            for word in CorrectionSequenceTests.words {
                for fingerprint in ["io", nil] {
                    let record = IssueRecord.shop(
                        "The \(word) failed", version: "\(version).0", fingerprint: fingerprint)
                    try store.store([record], to: writer)
                }
            }
            try note()
        }

        mutating func note() throws {
            for group in try store.groups() { ids.insert(group.id) }
        }
    }

    @Test(
        "Every group id leads to an issue with records, and undoing all corrections in any order restores the groups",
        arguments: 0..<40)
    func sequences(seed: UInt64) throws {
        var random = SampleRecords(seed: seed)
        try TemporaryStore.with { store in
            var fixture = try Fixture(store)
            let writer = fixture.writer
            let before = try store.groups().map(\.id)
            var steps: [String] = []
            func check() throws {
                let reader = try store.reader()
                for id in fixture.ids.sorted() {
                    let found = try? reader.show(id, viewer: .everything).group
                    #expect(found != nil && found?.records != 0, "\(id) after \(steps)")
                }
            }
            func undo(_ correction: GroupCorrection) throws {
                steps.append("undo \(correction.kind) \(correction.id)")
                #expect(try writer.undo(correction: correction.id) != nil)
                try fixture.note()
                try check()
            }
            for _ in 0..<10 {
                let groups = try store.groups()
                let target = try store.reader().group(
                    withOwnID: groups.randomElement(using: &random)!.id, viewer: .everything)
                let pattern = try #require(TitlePattern("*\(Self.words.randomElement(using: &random)!)*"))
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1:
                    let other = try groups.filter { _ in Bool.random(using: &random) }
                        .map { try store.reader().group(withOwnID: $0.id, viewer: .everything) }
                    steps.append("merge \(other) into \(target)")
                    _ = try writer.merge(other, into: target, by: store.author())
                case 2:
                    steps.append("split \(pattern.text) from \(target)")
                    if case .done(let group) = try writer.split(target, by: pattern, store.author()) {
                        steps[steps.count - 1] += " as \(group)"
                    } else {
                        steps.removeLast()
                    }
                case 3:
                    let id = groups.first { _ in true }!.id
                    let subject = try store.reader().subject(id, viewer: .everything)
                    let matching = try store.reader().groups(of: subject, matching: pattern, limit: 100)
                    steps.append("rule \(pattern.text) merges \(matching) into \(target)")
                    _ = try writer.addRule(pattern, merging: matching, into: target, by: store.author())
                case 4:
                    if let one = try store.reader().corrections(viewer: .everything).randomElement(using: &random) {
                        try undo(one)
                    }
                default:
                    steps.append("report")
                    try fixture.report()
                }
                try fixture.note()
                try check()
            }
            while let one = try store.reader().corrections(viewer: .everything).randomElement(using: &random) {
                try undo(one)
            }
            #expect(try store.groups().map(\.id) == before, "\(steps)")
            #expect(
                try store.shell().number(#"SELECT count(*) FROM series WHERE home <> "group""#) == 0, "\(steps)")
            try expectSound(store)
        }
    }
}

import Foundation
import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

/// The disk loses unsynced data, and tears pages that are being written.
@Suite("After a power cut", .serialized)
struct PowerCutTests {
    private static let rounds = Int(ProcessInfo.processInfo.environment["ISSUED_TORTURE_ROUNDS"] ?? "")
    /// `true` if `ISSUED_TORTURE_ROUNDS` is a number. Then runs are longer, and more accesses fail.
    static let isLong = rounds != nil
    static let seeds = (0..<(rounds ?? 1)).map { UInt64($0) + 1 }

    private static let script: [StoreFixture.Step] = [
        .report, .reportNumbered, .report, .batch, .report, .settle, .reportNumbered, .checkpoint, .report, .forget,
    ]

    /// Returns random steps of all kinds, the common ones more often.
    private func steps(_ count: Int, _ fixture: StoreFixture) -> [StoreFixture.Step] {
        (0..<count).map { _ in
            let rest = StoreFixture.Step.allCases
            return fixture.below(2) == 0
                ? Self.script[Int(fixture.below(Int64(Self.script.count)))]
                : rest[Int(fixture.below(Int64(rest.count)))]
        }
    }

    @Test(
        "After a power cut before any sync, the store has the state before or after the last step, and continues",
        arguments: seeds)
    func beforeEachSync(seed: UInt64) throws {
        try takeImages(seed: seed, before: .sync, oneIn: 1, steps: Self.isLong ? 50 : 25)
    }

    @Test(
        "After a power cut between any two calls that change the disk, the acknowledged records are there",
        arguments: seeds)
    func betweenCalls(seed: UInt64) throws {
        try takeImages(seed: seed &+ 1000, before: .changes, oneIn: 12, steps: Self.isLong ? 50 : 25)
    }

    private func takeImages(seed: UInt64, before calls: FaultDisk.Calls, oneIn share: UInt32, steps count: Int) throws {
        try StoreFixture.with(seed: seed) { fixture, disk in
            disk.takeImages(before: calls, oneIn: share)
            try fixture.open()
            var looked = 0
            for (number, step) in steps(count, fixture).enumerated() {
                let before = fixture.model
                try fixture.take(step)
                let context = "seed \(seed), step \(number) (\(step))"
                let faults = try fixture.faults()
                #expect(faults == [], "\(context)")
                while looked < disk.images {
                    looked += 1
                    // The state before the step is valid, too.
                    try fixture.expectSound(
                        image: disk.folder(ofImage: looked), or: before, "\(context), image \(looked)")
                }
            }
            #expect(looked > 10)
        }
    }

    @Test(
        "After a power cut, everything fails until the files are closed, and the next run finds acknowledged records",
        arguments: seeds)
    func cutsAndGoesOn(seed: UInt64) throws {
        try StoreFixture.with(seed: seed &+ 2000) { fixture, disk in
            try fixture.open()
            for round in 0..<(Self.isLong ? 25 : 12) {
                disk.cut(before: 1 + Int(fixture.below(60)), of: .changes)
                var step = StoreFixture.Step.report
                while !disk.isCut {
                    step = steps(1, fixture)[0]
                    // The oracle must know the series and times of rows before the rows are removed.
                    if step == .forget, fixture.writer != nil { _ = try? fixture.faults() }
                    do { try fixture.take(step) } catch { break }
                }
                let context = "seed \(seed), round \(round), step \(step)"
                #expect(disk.isCut, "\(context)")
                if let writer = fixture.writer {
                    #expect(throws: StoreFailure.self, "\(context)") {
                        try fixture.store.store([IssueRecord(message: "into the dark")], to: writer)
                    }
                }
                fixture.close()
                disk.restart()
                #expect(try fixture.recover() == [], "\(context)")
                #expect(try fixture.faultsAfterContinuing() == [], "\(context), continuing")
            }
        }
    }

    @Test(
        "After a power cut, records that a killed run wrote are there if the next run has reported them as stored",
        arguments: 1...8 as ClosedRange<UInt64>)
    func killedBeforeSync(seed: UInt64) throws {
        let call = SentCall([IssueRecord(message: "once")], producer: ProducerID(high: 1, low: 1), sequence: 1)
        try StoreFixture.with(seed: seed) { fixture, disk in
            let store = fixture.store
            var writer: StoreWriter? = try store.writer()
            disk.fail(1, of: .sync, with: .error)
            if let writer { #expect(throws: StoreFailure.self) { try store.commit(Submission([call]), to: writer) } }
            #expect(disk.failed == 1)
            disk.stopFailing()
            // A killed process leaves the WAL behind.
            writer?.connection.setCheckpointsOnClose(false)
            writer = nil
            let next = try store.writer()
            let answer = try #require(try store.commit(Submission([call]), to: next).first?.mixed.first)
            #expect(answer == .duplicate(id: next.memory.values.recordID(row: 1).text))
            let image = disk.image()
            defer { try? FileManager.default.removeItem(atPath: image) }
            try FaultDisk.with(image, seed: 0) { _ in
                let reader = try StoreReader(path: image + "/issues.db")
                #expect(try reader.newest() == 1)
            }
        }
    }

    @Test(
        "After a power cut while unused bytes are erased, all records are there, and the next pass erases the rest",
        arguments: seeds)
    func whileBytesAreErased(seed: UInt64) throws {
        try TemporaryStore.with { store in
            try FaultDisk.with(store.folder, seed: seed) { disk in
                store.settings.rangeRecords = 50
                let writer = try store.writer()
                for number in 0..<400 {
                    var record = IssueRecord(message: number.isMultiple(of: 2) ? "zqmsgx\(number)" : "open \(number)")
                    record.app = Application(name: number.isMultiple(of: 2) ? "zqapp" : "shop")
                    let size = number % 40 == 0 ? 20_000 : 40
                    let word = number.isMultiple(of: 2) ? "zqmetax\(number) " : "open "
                    record.metadata = ["text": .string(String(repeating: word, count: size / 10))]
                    try store.store([record], to: writer)
                }
                try writer.closeOpenRange()
                var filter = IssueFilter()
                filter.apps = ["zqapp"]
                let toErase = try store.reader().rows(filter, above: 0, through: .max, limit: 1000).rows
                #expect(toErase.count == 200)
                let erasure = try writer.erase(toErase)
                try writer.finishErasing(erasure.series.sorted(), isWhole: true)
                while try writer.collectOwners() {}
                try writer.eraseNewestOwners(processes: [], seenThrough: 400)
                let rows = try store.shell().table("SELECT id, metadata FROM records ORDER BY id", columns: 2)
                #expect(rows.count == 200)

                disk.takeImages(before: .changes)
                try ErasingTests.eraseUnusedBytes(writer)
                disk.takeNoImages()
                // Nothing is left even if the power is cut directly after the reply to the purge.
                let end = disk.image()
                #expect(ErasingTests.texts(beginningWith: "zq", in: end + "/issues.db") == [])
                #expect(disk.images > 10)
                var dirty = 0
                for number in 1...disk.images {
                    let folder = disk.folder(ofImage: number)
                    defer { try? FileManager.default.removeItem(atPath: folder) }
                    let image = TemporaryStore(path: folder + "/issues.db")
                    if ErasingTests.hasTexts(beginningWith: "zq", in: image.path) { dirty += 1 }
                    try FaultDisk.with(folder, seed: 0) { _ in
                        let writer = try image.writer()
                        let shell = try image.shell()
                        #expect(try shell.table("PRAGMA integrity_check", columns: 1) == [["ok"]], "image \(number)")
                        #expect(try shell.table("SELECT id, metadata FROM records ORDER BY id", columns: 2) == rows)
                        #expect(try RangeAudit.faults(shell) == [])
                        try ErasingTests.eraseUnusedBytes(writer)
                        #expect(!ErasingTests.hasTexts(beginningWith: "zq", in: image.path), "image \(number)")
                    }
                }
                #expect(dirty > 3)
            }
        }
    }
}

import Foundation
import SQLiteKit
import Testing

@testable import IssueStore

/// Disk accesses of SQLite fail one after the other, in every `StoreFixture.Step`. Only a long run lets every access
/// fail (`isLong`).
@Suite("When a disk access fails", .serialized)
struct FailingCallTests {
    /// `true` if `eachInTurn` lets each access fail in each way. Otherwise, the first four accesses and then every
    /// fourth one fail, in one way each.
    private static let isLong = PowerCutTests.isLong
    private static let shifts = isLong ? [0, 1, 2, 3, 4, 5] : [0]

    @Test(
        "When a disk access fails, a step is complete or leaves no trace; the next step works, and so does a restart",
        arguments: StoreFixture.Step.allCases, shifts)
    func eachInTurn(step: StoreFixture.Step, shift: Int) throws {
        try StoreFixture.with(seed: 11) { fixture, disk in
            try fixture.open()
            for _ in 0..<6 { try fixture.take(.report) }
            try fixture.take(.reportNumbered)
            var (nth, failures, hit) = (0, 0, true)
            while hit {
                nth += Self.isLong || nth < 4 ? 1 : 4
                let fault = FaultDisk.Fault.allCases[(nth + shift) % 3]
                let context = "\(step), call \(nth), \(fault)"
                try fixture.prepare(step)
                disk.fail(nth, with: fault, lasts: (nth + shift) / 3 % 2 == 1)
                var failure: (any Error)?
                do { try fixture.take(step) } catch { failure = error }
                hit = disk.failed > 0
                disk.stopFailing()
                if let failure {
                    failures += 1
                    #expect(hit, "\(context): \(failure)")
                    switch failure as? StoreFailure {
                    case .noSpace, .failed: break
                    default: Issue.record("\(context): \(failure)")
                    }
                }
                if fixture.writer == nil { try fixture.open() }
                let doubtful = fixture.doubtful
                #expect(try fixture.obviousFaults() == [], "\(context)")
                guard nth % (Self.isLong ? 8 : 16) == 0 || !hit else { continue }
                #expect(try fixture.faults() == [], "\(context)")
                try fixture.expectSound(image: disk.image(), or: doubtful, context)
            }
            #expect(failures > 0)
            try fixture.take(.restart)
            #expect(try fixture.faults() == [])
            #expect(try fixture.faultsAfterContinuing() == [])
        }
    }

    @Test("When a disk access fails while a store is created, the next start completes the store")
    func eachInMaking() throws {
        var (nth, hit) = (0, true)
        while hit {
            nth += Self.isLong ? (nth < 20 ? 1 : 7) : nth < 4 ? 1 : 13
            let context = "call \(nth)"
            try StoreFixture.with(seed: UInt64(nth)) { fixture, disk in
                disk.fail(nth, with: FaultDisk.Fault.allCases[nth % 3], lasts: nth / 3 % 2 == 1)
                do {
                    try fixture.open()
                } catch {
                    #expect(disk.failed > 0, "\(context): \(error)")
                }
                hit = disk.failed > 0
                disk.stopFailing()
                try fixture.expectSound(image: disk.image(), or: nil, context)
                fixture.close()
                try fixture.open()
                for _ in 0..<2 { try fixture.take(.report) }
                let faults = try fixture.faults()
                #expect(faults == [], "\(context)")
            }
        }
    }

    @Test("A commit whose sync fails is uncertain, even after a checkpoint that found no space")
    func fullSync() throws {
        try StoreFixture.with(seed: 12) { fixture, disk in
            try fixture.open()
            try fixture.take(.report)
            // SQLite keeps the errno of the failed checkpoint, and sets none if COMMIT fails.
            disk.fail(1, of: .sync, with: .noSpace)
            #expect(throws: StoreFailure.noSpace) { try fixture.take(.checkpoint) }
            disk.fail(1, of: .sync, with: .error)
            let failure = #expect(throws: StoreFailure.self) { try fixture.take(.report) }
            #expect(disk.failed == 1)
            #expect(failure?.isUncertain == true)
            // A write that finds no space fails before anything is stored.
            disk.fail(1, of: .write, with: .noSpace)
            #expect(throws: StoreFailure.noSpace) { try fixture.take(.report) }
            #expect(disk.failed == 1)
            disk.stopFailing()
            try fixture.take(.report)
            #expect(try fixture.faults() == [])
        }
    }
}

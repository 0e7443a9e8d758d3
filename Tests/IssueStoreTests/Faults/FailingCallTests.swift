import Foundation
import SQLiteKit
import Testing

@testable import IssueStore

/// Every disk access of SQLite fails in turn, in every step that a daemon takes.
@Suite("When a disk access fails", .serialized)
struct FailingCallTests {
    /// The long form lets each access fail in each way. Otherwise the first ones and every fourth one after them fail
    /// in one way.
    private static let isLong = PowerCutTests.isLong
    private static let shifts = isLong ? [0, 1, 2, 3, 4, 5] : [0]

    @Test(
        "a step is complete or leaves no trace, the next one works, and so does a restart",
        arguments: StoreScene.Step.allCases, shifts)
    func eachInTurn(step: StoreScene.Step, shift: Int) throws {
        try StoreScene.with(seed: 11) { scene, disk in
            try scene.open()
            for _ in 0..<6 { try scene.take(.report) }
            try scene.take(.reportNumbered)
            var (nth, failures, hit) = (0, 0, true)
            while hit {
                nth += Self.isLong || nth < 4 ? 1 : 4
                let fault = FaultDisk.Fault.allCases[(nth + shift) % 3]
                let place = "\(step), call \(nth), \(fault)"
                try scene.prepare(step)
                disk.fail(nth, with: fault, lasts: (nth + shift) / 3 % 2 == 1)
                var failure: (any Error)?
                do { try scene.take(step) } catch { failure = error }
                hit = disk.failed > 0
                disk.stopFailing()
                if let failure {
                    failures += 1
                    #expect(hit, "\(place): \(failure)")
                    switch failure as? StoreFailure {
                    case .noSpace, .failed: break
                    default: Issue.record("\(place): \(failure)")
                    }
                }
                if scene.writer == nil { try scene.open() }
                let doubtful = scene.doubtful
                #expect(try scene.obviousFaults() == [], "\(place)")
                guard nth % (Self.isLong ? 8 : 16) == 0 || !hit else { continue }
                #expect(try scene.faults() == [], "\(place)")
                try scene.expectSound(image: disk.image(), or: doubtful, place)
            }
            #expect(failures > 0)
            try scene.take(.restart)
            #expect(try scene.faults() == [])
            #expect(try scene.faultsAfterContinuing() == [])
        }
    }

    @Test("creating a store and each migration resumes where it failed", arguments: [0, 1, 2])
    func eachInMaking(version: Int) throws {
        var (nth, hit) = (0, true)
        while hit {
            nth += Self.isLong ? (nth < 20 ? 1 : 7) : nth < 4 ? 1 : 13
            let place = "version \(version), call \(nth)"
            try StoreScene.with(seed: UInt64(nth)) { scene, disk in
                if version > 0 {
                    let steps = [Migration(Schema.log), Migration(Schema.forwarding)].prefix(version)
                    let older = Migrator(applicationID: Schema.applicationID, migrations: Array(steps))
                    try older.migrate(try scene.store.shell())
                }
                disk.fail(nth, with: FaultDisk.Fault.allCases[nth % 3], lasts: nth / 3 % 2 == 1)
                do {
                    try scene.open()
                } catch {
                    #expect(disk.failed > 0, "\(place): \(error)")
                }
                hit = disk.failed > 0
                disk.stopFailing()
                try scene.expectSound(image: disk.image(), or: nil, place)
                scene.close()
                try scene.open()
                for _ in 0..<2 { try scene.take(.report) }
                let faults = try scene.faults()
                #expect(faults == [], "\(place)")
            }
        }
    }
}

import Foundation
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("On a full disk")
struct FullDiskTests {
    @Test(
        "On a full disk, reports are refused without a trace, and accepted again once there is space",
        arguments: PowerCutTests.seeds)
    func isRefused(seed: UInt64) throws {
        try StoreFixture.with(seed: seed) { fixture, disk in
            try fixture.open()
            for _ in 0..<10 { try fixture.take(.report) }
            for round in 0..<(PowerCutTests.isLong ? 8 : 4) {
                disk.limitGrowth(to: fixture.below(60_000) * fixture.below(2))
                var refused = 0
                for _ in 0..<200 where refused < 5 {
                    do {
                        try fixture.take(fixture.below(2) == 0 ? .report : .reportNumbered)
                    } catch {
                        #expect(error as? StoreFailure == .noSpace, "seed \(seed), round \(round)")
                        refused += 1
                        #expect(try fixture.obviousFaults() == [], "seed \(seed), round \(round)")
                    }
                }
                #expect(refused == 5, "the disk was not full")
                // While the disk is full, steps of a forwarder, retention and the checkpoint must do no harm.
                for step in [StoreFixture.Step.batch, .settle, .checkpoint, .forget, .shrink] {
                    try? fixture.take(step)
                }
                #expect(try fixture.faults() == [], "seed \(seed), round \(round)")
                if round % 3 == 0 {
                    try fixture.expectSound(image: disk.image(), or: nil, "seed \(seed), round \(round)")
                }
                disk.limitGrowth(to: nil)
                #expect(try fixture.faultsAfterContinuing() == [], "seed \(seed), round \(round)")
                try fixture.take(.checkpoint)
            }
        }
    }

    @Test("On a full disk, a store opens and can be queried, after a stop and after a crash", arguments: [true, false])
    func opens(isStopped: Bool) throws {
        try StoreFixture.with(seed: 5) { fixture, disk in
            try fixture.open()
            for _ in 0..<10 { try fixture.take(.report) }
            fixture.close()
            if !isStopped {
                try fixture.open()
                try fixture.take(.report)
                disk.cutNow()
                fixture.close()
                disk.restart()
            }
            disk.limitGrowth(to: 0)
            try fixture.open()
            #expect(try fixture.faults() == [])
            #expect(throws: StoreFailure.noSpace) { for _ in 0..<5 { try fixture.take(.report) } }
            fixture.close()
            disk.limitGrowth(to: nil)
            #expect(try fixture.recover() == [])
            #expect(try fixture.faultsAfterContinuing() == [])
        }
    }
}

import Foundation
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("On a full disk")
struct FullDiskTests {
    @Test(
        "reports are refused without a trace, and accepted again once there is space", arguments: PowerCutTests.seeds)
    func isRefused(seed: UInt64) throws {
        try StoreScene.with(seed: seed) { scene, disk in
            try scene.open()
            for _ in 0..<10 { try scene.take(.report) }
            for round in 0..<(PowerCutTests.isLong ? 8 : 4) {
                disk.limitGrowth(to: scene.below(60_000) * scene.below(2))
                var refused = 0
                for _ in 0..<200 where refused < 5 {
                    do {
                        try scene.take(scene.below(2) == 0 ? .report : .reportNumbered)
                    } catch {
                        #expect(error as? StoreFailure == .noSpace, "seed \(seed), round \(round)")
                        refused += 1
                        #expect(try scene.obviousFaults() == [], "seed \(seed), round \(round)")
                    }
                }
                #expect(refused == 5, "the disk was not full")
                // Steps of a forwarder, retention and the checkpoint must do no harm then.
                for step in [StoreScene.Step.batch, .settle, .checkpoint, .forget, .shrink] { try? scene.take(step) }
                #expect(try scene.faults() == [], "seed \(seed), round \(round)")
                if round % 3 == 0 {
                    try scene.expectSound(image: disk.image(), or: nil, "seed \(seed), round \(round)")
                }
                disk.limitGrowth(to: nil)
                #expect(try scene.faultsAfterContinuing() == [], "seed \(seed), round \(round)")
                try scene.take(.checkpoint)
            }
        }
    }

    @Test("a store opens and can be queried, after a stop and after a crash", arguments: [true, false])
    func opens(isStopped: Bool) throws {
        try StoreScene.with(seed: 5) { scene, disk in
            try scene.open()
            for _ in 0..<10 { try scene.take(.report) }
            scene.close()
            if !isStopped {
                try scene.open()
                try scene.take(.report)
                disk.cutNow()
                scene.close()
                disk.restart()
            }
            disk.limitGrowth(to: 0)
            try scene.open()
            #expect(try scene.faults() == [])
            #expect(throws: StoreFailure.noSpace) { for _ in 0..<5 { try scene.take(.report) } }
            scene.close()
            disk.limitGrowth(to: nil)
            #expect(try scene.recover() == [])
            #expect(try scene.faultsAfterContinuing() == [])
        }
    }
}

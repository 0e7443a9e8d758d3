import Foundation
import IssueCore
import IssueProtocol

@testable import IssueStore

/// The files of a store that was at work for a while, to be damaged.
struct StoreFiles {
    var database: Data
    /// Empty where the log was copied into the database.
    var log = Data()
    /// What the store held after each of its steps.
    var history: [StoreModel] = []

    /// - Parameter isClosed: whether the log was copied and deleted, as by a stop, or all is in it, as after a crash.
    static func made(seed: UInt64, isClosed: Bool) throws -> StoreFiles {
        try StoreScene.with(seed: seed) { scene, disk in
            try scene.open()
            try scene.take(.checkpoint)
            var history: [StoreModel] = []
            let steps: [StoreScene.Step] = [
                .report, .reportNumbered, .batch, .report, .settle, .report, .report, .batch,
            ]
            for step in steps + steps + steps {
                try scene.take(step)
                _ = try scene.faults()
                history.append(scene.model)
            }
            if isClosed {
                scene.close()
                return StoreFiles(database: try read(scene.store.path), history: history)
            }
            // The log was synced, so it is in the real file as well.
            return StoreFiles(
                database: try read(scene.store.path), log: try read(scene.store.path + "-wal"), history: history)
        }
    }

    private static func read(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    /// Lends a store that has these files, on a disk whose syncs take no time.
    func with<Value>(_ body: (TemporaryStore) throws -> Value) throws -> Value {
        try TemporaryStore.with { store in
            try database.write(to: URL(filePath: store.path))
            if !log.isEmpty { try log.write(to: URL(filePath: store.path + "-wal")) }
            store.settings.rangeRecords = 20
            store.pass(.seconds(1000))
            return try FaultDisk.with(store.folder, seed: 0) { _ in try body(store) }
        }
    }
}

import Foundation
import IssueCore
import IssueProtocol

@testable import IssueStore

/// The files of a store that was used for a while, to be corrupted.
struct StoreFiles {
    var database: Data
    /// Empty if the WAL was checkpointed.
    var log = Data()
    /// The contents of the store after each of its steps.
    var history: [StoreModel] = []

    /// Creates the files.
    ///
    /// - Parameter isClosed: `true` for a checkpointed and deleted WAL, as after a stop; `false` for a WAL that
    ///   contains everything, as after a crash.
    static func made(seed: UInt64, isClosed: Bool) throws -> StoreFiles {
        try StoreFixture.with(seed: seed) { fixture, disk in
            try fixture.open()
            try fixture.take(.checkpoint)
            var history: [StoreModel] = []
            let steps: [StoreFixture.Step] = [
                .report, .reportNumbered, .batch, .report, .settle, .report, .report, .batch,
            ]
            for step in steps + steps + steps {
                try fixture.take(step)
                _ = try fixture.faults()
                history.append(fixture.model)
            }
            if isClosed {
                fixture.close()
                return StoreFiles(database: try read(fixture.store.path), history: history)
            }
            // The WAL was synced, so it is in the real file as well.
            return StoreFiles(
                database: try read(fixture.store.path), log: try read(fixture.store.path + "-wal"), history: history)
        }
    }

    private static func read(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    /// Runs `body` with a store that has these files, on a disk whose syncs take no time.
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

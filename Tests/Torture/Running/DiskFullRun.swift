package import FakeLogz
import Foundation
import IssueTestSupport
import UnixIO

/// Fills the small disk that holds the store, and empties it again, under load.
package enum DiskFullRun {
    package static func run(
        _ listener: FakeLogz, control: FaultControl, library: String, seed: UInt64, times: Int,
        styles: [ReporterStyle] = ReporterStyle.standard(withOtherUsers: false)
    ) async throws -> TortureTable {
        let configuration = TortureRun.configuration(listener, control: control, library: library, maxSize: "16M")
        return try await DaemonFixture.withSmallDisk("64m", configuration) { daemon in
            let tortureRun = try TortureRun(daemon, listener, control: control, seed: seed, styles: styles)
            defer { tortureRun.end() }
            for time in 0..<times { try tortureRun.fillDisk(daemon.folder["state"], restarts: time % 3 == 2) }
            return tortureRun.table
        }
    }
}

extension TortureRun {
    /// Leaves no free space on the store's disk for a while.
    fileprivate func fillDisk(_ folder: String, restarts: Bool) throws {
        let filler = "\(folder)/filler"
        try round(restarts ? "Disk full, and a restart" : "Disk full", fillingRanges: !restarts) {
            load(for: 50...200)
            let before = pool.refusals
            guard FileManager.default.createFile(atPath: filler, contents: nil),
                let file = FileHandle(forWritingAtPath: filler)
            else { throw CocoaError(.fileWriteUnknown) }
            fill(file)
            if restarts {
                try daemon.terminate()
                fill(file)
                try daemon.start()
            }
            load(for: 200...400)
            let hasRefused = pool.refusals > before
            try FileManager.default.removeItem(atPath: filler)
            return hasRefused
        }
    }

    /// Uses all free space, including what the daemon frees in the meantime.
    private func fill(_ file: FileHandle) {
        for _ in 1...40 {
            for size in [1 << 20, 1 << 16, 4096] {
                while (try? file.write(contentsOf: Data(count: size))) != nil {}
            }
            pool.pause(.milliseconds(5))
        }
    }
}

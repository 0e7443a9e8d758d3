import Foundation
import IssueTestSupport
import UnixIO

extension TortureRun {
    /// When the power is cut.
    package enum Cut: String, CaseIterable, Sendable {
        /// Before a sync.
        case sync
        /// Before a write.
        case write
        /// Before a call of any kind, including those of the start.
        case all
        /// Not at a call but at any moment, including the shutdown. All unsynced data is lost then.
        case moment
    }

    /// Cuts the power. Unsynced data and names of files are lost or torn.
    ///
    /// - Parameter disk: The library that turns the daemon's folder into a disk.
    package func cutPower(_ cut: Cut, disk: String) throws {
        let original = daemon.configuration
        let fills = Bool.random(using: &generator)
        try round("Power cut, \(cut == .moment ? "at any moment" : "at calls (\(cut.rawValue))")", fillingRanges: fills)
        {
            try pool.settle()
            try inspection.inspect()
            try daemon.terminate()
            try daemon.configure(configuration(original, cut, disk))
            pool.report(fillingRanges: fills)
            try daemon.launch()
            if cut == .moment {
                load(for: 0...1500)
                if Bool.random(using: &generator) {
                    daemon.process?.signal(SIGTERM)
                    pause(.microseconds(Int.random(in: 0...50_000, using: &generator)))
                }
            }
            // Other processes see only synced data, so the store is not examined until the daemon has ended.
            let hasEnded = try cut == .moment ? false : waitsForEnd(within: .seconds(10), inspects: false)
            daemon.process?.send(SIGKILL)
            _ = try daemon.end()
            // The store is examined before the start, because retention could remove records that were not read.
            try inspection.inspect(isQuiet: false)
            try daemon.configure(original)
            try daemon.start()
            return hasEnded || cut == .moment
        }
    }

    private func configuration(_ original: DaemonConfiguration, _ cut: Cut, _ disk: String) -> DaemonConfiguration {
        var configuration = original
        configuration.text.replace(/MaxSize=\w+/, with: "MaxSize=1G")
        let faults = original.environment["LD_PRELOAD"] ?? ""
        configuration.environment["LD_PRELOAD"] = "\(disk) \(faults)"
        configuration.environment["FAULTVFS_FOLDER"] = daemon.folder["state"]
        configuration.environment["FAULTVFS_SEED"] = "\(generator.next() >> 1)"
        let number: Int? =
            switch cut {
            case .sync: Int.random(in: 1...80, using: &generator)
            case .write: Int.random(in: 1...800, using: &generator)
            case .all: Int.random(in: 1...2000, using: &generator)
            case .moment: nil
            }
        configuration.environment["FAULTVFS_CUT"] = number.map { "\(cut.rawValue):\($0)" }
        return configuration
    }
}

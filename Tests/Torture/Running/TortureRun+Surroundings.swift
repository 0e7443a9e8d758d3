import Foundation
import IssueTestSupport
import UnixIO

extension TortureRun {
    /// Shifts the wall clock for a while.
    package func jump(by duration: Duration) throws {
        try round(duration < .zero ? "Clock set back" : "Clock set forward") {
            load(for: 20...60)
            try control.setClock(off: duration)
            load(for: 60...200)
            if Bool.random(using: &generator) { try daemon.restart() }
            try pool.settle()
            try inspection.inspect()
            pool.report()
            try control.setClock(off: .zero)
            load(for: 20...60)
            return true
        }
    }

    /// Removes the file of the socket. The daemon must create it again.
    package func removeSocket() throws {
        try round("Socket file removed") {
            load(for: 10...50)
            try FileManager.default.removeItem(atPath: daemon.socket)
            let deadline = MonotonicClock.now.advanced(by: .seconds(20))
            while (try? RawClient(path: daemon.socket).status()) == nil {
                guard MonotonicClock.now < deadline else {
                    throw GuaranteeViolation(description: "The socket did not reappear.")
                }
                pool.pause(.milliseconds(10))
            }
            return true
        }
    }

    /// Leaves no descriptor for new connections. Existing ones must continue, and new ones follow once descriptors are
    /// free.
    package func exhaustDescriptors() throws {
        try round("Descriptors exhausted") {
            load(for: 10...50)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
            let limit = try descriptorLimit()
            try limitDescriptors("\(open):")
            var waiting: [RawClient] = []
            for _ in 1...20 {
                let client = try RawClient(path: daemon.socket)
                try client.begin("org.issued.Collector.Status")
                waiting.append(client)
            }
            let before = oracle.sums.acknowledged
            load(for: 300...600)
            let hasGoneOn = oracle.sums.acknowledged > before
            try limitDescriptors("\(limit):")
            for client in waiting { _ = try client.reply() }
            guard hasGoneOn else {
                throw GuaranteeViolation(description: "No call was answered while descriptors were exhausted.")
            }
            return true
        }
    }

    /// Returns the daemon's limit of descriptors, as the kernel reports it.
    private func descriptorLimit() throws -> Int {
        let limits = String(decoding: try FileSystem.read("/proc/\(daemon.pid)/limits", limit: 8192), as: UTF8.self)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        return line.flatMap { Int($0.split(separator: " ")[3]) } ?? 1024
    }

    private func limitDescriptors(_ limit: String) throws {
        guard let prlimit = TestBinaries.tool("/usr/bin/prlimit") else { throw CocoaError(.featureUnsupported) }
        let process = try ChildProcess(
            prlimit, ["--pid", "\(daemon.pid)", "--nofile=\(limit)"], in: daemon.folder, name: "prlimit")
        guard try process.end() == .exit(0) else { throw GuaranteeViolation(description: "prlimit: \(process.errors)") }
    }
}

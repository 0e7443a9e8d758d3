package import Foundation
import Synchronization
import UnixIO

/// A program that a test has started; it does not outlive this.
package final class ChildProcess {
    /// How a program ended.
    package enum End: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// It ran longer than it may.
    package struct TooSlow: Error, CustomStringConvertible {
        package let description: String
    }

    private let process = Process()
    private let ended = Monitor(false)
    private let folder: ScratchFolder
    private let name: String
    // One start at a time: what one child opens, another must not inherit.
    private static let starting = Mutex(())

    /// What it writes goes to files in the folder, added to what is there.
    package init(
        _ program: String, _ arguments: [String] = [], in folder: ScratchFolder, name: String,
        environment: [String: String] = [:], input: FileHandle = .nullDevice, output: FileHandle? = nil
    ) throws {
        self.folder = folder
        self.name = name
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.currentDirectoryURL = URL(filePath: folder.path)
        process.environment = Self.plainEnvironment(folder).merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = try output ?? Self.file(folder["\(name).out"])
        process.standardError = try Self.file(folder["\(name).err"])
        process.terminationHandler = { [ended] _ in
            ended.withLock { $0 = true }
            ended.broadcast()
        }
        try Self.starting.withLock { _ in try process.run() }
    }

    deinit {
        guard isRunning else { return }
        send(SIGKILL)
        _ = try? end(within: .seconds(10))
    }

    package var pid: Int32 { process.processIdentifier }
    package var isRunning: Bool { !ended.withLock { $0 } }
    package var output: String { folder.text(of: "\(name).out") }
    package var errors: String { folder.text(of: "\(name).err") }

    /// Sends a signal to it and to all that it has started.
    package func send(_ signal: Int32) {
        // Where it leads no group of its own, it is alone.
        if kill(-pid, signal) != 0 { kill(pid, signal) }
    }

    /// Sends a signal to it alone.
    package func tell(_ signal: Int32) {
        kill(pid, signal)
    }

    /// Waits for its end.
    @discardableResult
    package func end(within time: Duration = .seconds(30)) throws -> End {
        let deadline = MonotonicClock.now.advanced(by: time)
        guard ended.wait(deadline: deadline, until: { $0 ? true : nil }) == true else {
            throw TooSlow(description: "\(name) still ran after \(time). It said: \(output) \(errors)")
        }
        // The handler is called before the status is known to this object.
        process.waitUntilExit()
        switch process.terminationReason {
        case .exit: return .exit(process.terminationStatus)
        case .uncaughtSignal: return .signal(process.terminationStatus)
        @unknown default: return .exit(process.terminationStatus)
        }
    }

    /// Nothing that is set where the tests run changes what is tested.
    private static func plainEnvironment(_ folder: ScratchFolder) -> [String: String] {
        let own = ProcessInfo.processInfo.environment
        var plain = ["HOME": folder.path, "LC_ALL": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no"]
        for name in ["PATH", "LD_LIBRARY_PATH", "TMPDIR"] { plain[name] = own[name] }
        return plain
    }

    private static func file(_ path: String) throws -> FileHandle {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        return file
    }
}

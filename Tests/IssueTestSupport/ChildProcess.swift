import Foundation
import Synchronization
package import UnixIO

/// A program that a test has started. It is killed when this object is released.
package final class ChildProcess {
    /// How a program ended.
    package enum End: Hashable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// The program ran longer than allowed.
    package struct TimeLimitExceeded: Error, CustomStringConvertible {
        package let description: String
    }

    package let pid: Int32
    private let end = Monitor<End?>(nil)
    private let folder: ScratchFolder
    private let name: String

    /// Starts a program. Its standard error is appended to the file `NAME.err` in the folder.
    ///
    /// - Parameter stream: The program's standard input and output. If nil, the program has no input, and its output is
    ///   appended to the file `NAME.out` in the folder.
    /// - Throws: `Errno`.
    package init(
        _ program: String, _ arguments: [String] = [], in folder: ScratchFolder, name: String,
        environment: [String: String] = [:], stream: consuming FileDescriptor? = nil
    ) throws {
        self.folder = folder
        self.name = name
        let environment = Self.plainEnvironment(folder).merging(environment) { $1 }
        let errors = try FileDescriptor.open(folder["\(name).err"], [.writeOnly, .create, .append], mode: 0o600)
        let input: FileDescriptor
        let output: FileDescriptor
        if let stream {
            input = try stream.duplicate()
            output = try stream.duplicate()
        } else {
            input = try FileDescriptor.open("/dev/null", .readOnly)
            output = try FileDescriptor.open(folder["\(name).out"], [.writeOnly, .create, .append], mode: 0o600)
        }
        pid = try Spawning.start(
            program, arguments, environment: environment,
            streams: [input.rawValue, output.rawValue, errors.rawValue])
        _ = try Thread.start(name: "wait-\(pid)") { [pid, end] in
            let how = Spawning.wait(for: pid)
            end.withLock { $0 = how }
            end.broadcast()
        }
    }

    /// Starts a program that is given as the words of a command.
    package convenience init(
        _ command: [String], in folder: ScratchFolder, name: String, environment: [String: String] = [:],
        stream: consuming FileDescriptor? = nil
    ) throws {
        try self.init(
            command[0], Array(command.dropFirst()), in: folder, name: name, environment: environment, stream: stream)
    }

    deinit {
        guard isRunning else { return }
        send(SIGKILL)
        _ = try? end(within: .seconds(10))
    }

    package var isRunning: Bool { end.withLock { $0 } == nil }
    package var output: String { folder.text(of: "\(name).out") }
    package var errors: String { folder.text(of: "\(name).err") }

    /// Sends a signal to the program's process group, which contains the processes that it has started.
    package func send(_ signal: Int32) {
        if isRunning { kill(-pid, signal) }
    }

    /// Sends a signal to the program only.
    package func signal(_ signal: Int32) {
        if isRunning { kill(pid, signal) }
    }

    /// Waits until the program ends, and blocks the thread. Throws `TimeLimitExceeded` at the timeout.
    @discardableResult
    package func end(within time: Duration = testTimeout) throws -> End {
        if let end = end.wait(deadline: MonotonicClock.now.advanced(by: time), until: { $0 }) { return end }
        throw TimeLimitExceeded(description: "\(name) was still running after \(time). Output: \(output) \(errors)")
    }

    /// Returns an environment without variables that could change what is tested.
    private static func plainEnvironment(_ folder: ScratchFolder) -> [String: String] {
        let own = ProcessInfo.processInfo.environment
        var plain = ["HOME": folder.path, "LC_ALL": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no"]
        // Sanitizer options are part of how the program was built.
        let sanitizers = ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"]
        for name in ["PATH", "LD_LIBRARY_PATH", "TMPDIR"] + sanitizers { plain[name] = own[name] }
        return plain
    }
}

import Foundation
import UnixIO

/// A program started by a test, with its output.
final class ChildProcess {
    /// The program exceeded its time limit.
    struct TimeLimitExceeded: Error {}

    let process = Process()
    let input = Pipe()
    private let output = Pipe()
    private let ended = DispatchSemaphore(value: 0)

    init(_ program: String, _ arguments: [String], in folder: URL, environment: [String: String]? = nil) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = environment
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.terminationHandler = { [ended] _ in ended.signal() }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Returns the first line of the program's output.
    func firstLine() -> String {
        var line: [UInt8] = []
        while let byte = try? output.fileHandleForReading.read(upToCount: 1), let byte = byte.first, byte != 0x0A {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Waits for the end of the program. Returns its exit code and the rest of its output.
    func end(within time: DispatchTimeInterval = .seconds(120)) throws -> (code: Int32, output: String) {
        guard ended.wait(timeout: .now() + time) == .success else { throw TimeLimitExceeded() }
        let rest = try output.fileHandleForReading.readToEnd() ?? Data()
        return (process.terminationStatus, String(decoding: rest, as: UTF8.self))
    }
}

import Foundation
import UnixIO

/// The real daemon with its own folder, configuration, socket and database.
///
/// Unless the test starts the daemon itself, the daemon is ready when the test gets the fixture. It is killed when the
/// test ends in any way. In a test with the trait `daemonLog`, a failure contains what the daemon wrote to standard
/// error.
package final class DaemonFixture {
    /// A failure of the fixture, or an error of a test together with the daemon's log.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The daemon ended, or did not send an expected line to the service manager in time.
    package struct NotReady: Error, CustomStringConvertible {
        package let description: String
    }

    package let folder: ScratchFolder
    package let notifications: NotifySocket
    package private(set) var configuration: DaemonConfiguration
    package private(set) var process: ChildProcess?

    /// The path of the log of the current test's daemon, to show the log with a failure; nil if there is no daemon.
    @TaskLocal package static var currentLog: String?

    package var socket: String { folder["issued.sock"] }
    package var database: String { folder["state/issues.db"] }
    package var tokenFile: String { folder["token"] }
    package var configurationFile: String { folder["issued.conf"] }
    /// Everything that the daemon has written to standard error.
    package var log: String { folder.text(of: "issued.err") }
    package var pid: Int32 { process?.pid ?? 0 }

    private init(_ configuration: DaemonConfiguration) throws {
        folder = try ScratchFolder(named: "issued")
        notifications = try NotifySocket(path: folder["notify"])
        self.configuration = configuration
        try writeToken(DaemonConfiguration.token)
        try configure(configuration)
    }

    /// Runs a daemon for the duration of `body`. Waits first while too many other tests do so (`DaemonTestGate`).
    ///
    /// - Parameter starts: `false` if `body` starts the daemon itself.
    /// - Throws: `Failure` with the error of `body` or of the start, and the daemon's log.
    package static func with<Value>(
        _ configuration: DaemonConfiguration = DaemonConfiguration(), starts: Bool = true,
        _ body: (DaemonFixture) async throws -> Value
    ) async throws -> Value {
        try await DaemonTestGate.run { try await run(configuration, starts: starts, body) }
    }

    /// The reason why no small disk can be mounted here; nil if one can.
    package static let smallDiskObstacle: String? = {
        do {
            let folder = try ScratchFolder()
            try mount("1m", at: folder.path, in: folder)
            try unmount(folder.path, in: folder)
            return nil
        } catch {
            return "a small disk can't be mounted: \(error)"
        }
    }()

    /// Runs `body` with a daemon that has not been started, and whose store is on a small disk of its own.
    ///
    /// - Parameter size: The size of the disk, as an option of mount(8).
    package static func withSmallDisk<Value>(
        _ size: String, _ configuration: DaemonConfiguration = DaemonConfiguration(),
        _ body: (DaemonFixture) async throws -> Value
    ) async throws -> Value {
        try await with(configuration, starts: false) { daemon in
            let state = daemon.folder["state"]
            try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
            try mount(size, at: state, in: daemon.folder)
            defer {
                daemon.process?.send(SIGKILL)
                try? unmount(state, in: daemon.folder)
            }
            return try await body(daemon)
        }
    }

    private static func mount(_ size: String, at path: String, in folder: ScratchFolder) throws {
        let words = ["-t", "tmpfs", "-o", "size=\(size),mode=0700", "issued-test", path]
        let process = try ChildProcess(["/bin/mount"] + words, in: folder, name: "mount")
        guard try process.end() == .exit(0) else { throw Failure(description: process.errors) }
    }

    private static func unmount(_ path: String, in folder: ScratchFolder) throws {
        try ChildProcess(["/bin/umount", "--lazy", path], in: folder, name: "umount").end()
    }

    private static func run<Value>(
        _ configuration: DaemonConfiguration, starts: Bool, _ body: (DaemonFixture) async throws -> Value
    ) async throws -> Value {
        let fixture = try DaemonFixture(configuration)
        defer { fixture.stopAtOnce() }
        return try await $currentLog.withValue(fixture.folder["issued.err"]) {
            do {
                if starts { try fixture.start() }
                return try await body(fixture)
            } catch {
                // The failure is recorded where the log is no longer available.
                throw Failure(description: "\(error)\nLog of the daemon:\n\(fixture.log.suffix(8192))")
            }
        }
    }

    /// Starts the daemon and waits until it is ready. Throws `NotReady` if the daemon ends or is not ready in time.
    package func start() throws {
        try launch()
        try waitUntilReady()
    }

    /// Starts the daemon and does not wait.
    ///
    /// - Parameters:
    ///   - launcher: Words to put before the daemon's command, such as those of `OtherUser.launcher`.
    ///   - arguments: The daemon's arguments; nil for `--config` with the fixture's configuration file.
    package func launch(through launcher: [String] = [], arguments: [String]? = nil) throws {
        let own = [try TestBinaries.path(of: "issued")] + (arguments ?? ["--config", configurationFile])
        var command = launcher + own
        let program = command.removeFirst()
        notifications.markAllUsed()
        let environment = ["NOTIFY_SOCKET": notifications.path].merging(configuration.environment) { $1 }
        process = try ChildProcess(program, command, in: folder, name: "issued", environment: environment)
    }

    /// Whether the process of the daemon runs.
    package var isRunning: Bool { process?.isRunning == true }

    package func waitUntilReady(within time: Duration = testTimeout) throws {
        try waits(for: "READY=1", within: time)
    }

    /// Waits until the daemon has sent this line to the service manager. Throws `NotReady` if the daemon ends or
    /// does not send the line in time.
    package func waits(for line: String, within time: Duration = testTimeout) throws {
        let process = process
        guard try notifications.waits(for: line, within: time, while: { process?.isRunning == true }) else {
            throw NotReady(description: "The daemon did not send \(line).")
        }
    }

    /// Waits until the daemon has logged a text, and checks how often the log contains it.
    ///
    /// The daemon answers a call before it logs what it did, so a line may come later than the answer.
    ///
    /// - Parameter count: How many times the log must contain the text; nil for at least once.
    /// - Throws: `ConditionTimeout` at the timeout, `Failure` if the log contains the text more than `count` times.
    package func logs(_ text: String, count: Int? = nil) async throws {
        var found = 0
        try await eventually("the daemon has logged “\(text)”") {
            found = log.ranges(of: text).count
            return found >= count ?? 1
        }
        if let count, found > count { throw Failure(description: "The daemon has logged “\(text)” \(found) times.") }
    }

    /// Returns a number from a line of `/proc/PID/status`, in KiB.
    package func kilobytes(_ name: String) throws -> Int {
        let status = String(decoding: try FileSystem.read("/proc/\(pid)/status", limit: 65_536), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") } ?? ""
        guard let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure(description: "/proc/\(pid)/status has no number \(name).")
        }
        return number
    }

    /// The processor time that the daemon has used, in hundredths of a second.
    package var processorTicks: Int {
        get throws {
            let stat = String(decoding: try FileSystem.read("/proc/\(pid)/stat", limit: 4096), as: UTF8.self)
            // The command, in parentheses, may contain spaces.
            let fields = stat.split(separator: ")").last?.split(separator: " ").compactMap { Int($0) } ?? []
            guard fields.count > 11 else { throw Failure(description: "/proc/\(pid)/stat is too short.") }
            return fields[10] + fields[11]
        }
    }

    // MARK: Configuration

    /// Writes the configuration file. The daemon reads it at its next start or reload.
    package func configure(_ configuration: DaemonConfiguration) throws {
        self.configuration = configuration
        try folder.write(
            configuration.file(socket: socket, database: database, tokenFile: tokenFile), to: "issued.conf")
    }

    package func writeToken(_ token: String) throws {
        try folder.write(token + "\n", to: "token")
    }

    /// Makes the daemon reload its configuration, and waits until it has.
    package func reload() throws {
        process?.signal(SIGHUP)
        try waits(for: "RELOADING=1")
        try waitUntilReady()
    }

    // MARK: Stopping

    /// Kills the daemon with SIGKILL and waits for its end.
    package func kill() throws {
        process?.send(SIGKILL)
        try process?.end()
        process = nil
    }

    /// Stops the daemon with SIGTERM and returns how it ended; nil if it was not started. Throws
    /// `ChildProcess.TimeLimitExceeded` at the timeout.
    @discardableResult
    package func terminate(within time: Duration = testTimeout) throws -> ChildProcess.End? {
        process?.signal(SIGTERM)
        defer { process = nil }
        return try process?.end(within: time)
    }

    /// Waits until the daemon has ended on its own, and returns how it ended; nil if it was not started. Throws
    /// `ChildProcess.TimeLimitExceeded` at the timeout.
    package func end(within time: Duration = testTimeout) throws -> ChildProcess.End? {
        defer { process = nil }
        return try process?.end(within: time)
    }

    package func restart() throws {
        try terminate()
        try start()
    }

    private func stopAtOnce() {
        process?.send(SIGKILL)
        process = nil
    }
}

import Foundation
import UnixIO

/// The real daemon, with a folder, a configuration, a socket and a database of its own.
///
/// It has answered READY when a test gets it, and is gone when the test ends,
/// however it ends. What it wrote to standard error stands in the failure of
/// a test that has the trait `daemonLog`.
package final class DaemonFixture {
    /// What went wrong in a test, and what the daemon said meanwhile.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// It ended, or was silent, where it should have been ready.
    package struct NotReady: Error, CustomStringConvertible {
        package let description: String
    }

    package let folder: ScratchFolder
    package let notifications: NotifySocket
    package private(set) var configuration: DaemonConfiguration
    package private(set) var process: ChildProcess?

    /// What the daemon of the test that runs has written, so that a failure can show it.
    @TaskLocal package static var currentLog: String?

    package var socket: String { folder["issued.sock"] }
    package var database: String { folder["state/issues.db"] }
    package var tokenFile: String { folder["token"] }
    package var configurationFile: String { folder["issued.conf"] }
    /// All that it has written to standard error.
    package var log: String { folder.text(of: "issued.err") }
    package var pid: Int32 { process?.pid ?? 0 }

    private init(_ configuration: DaemonConfiguration) throws {
        folder = try ScratchFolder(named: "issued")
        notifications = try NotifySocket(path: folder["notify"])
        self.configuration = configuration
        try writeToken(DaemonConfiguration.token)
        try configure(configuration)
    }

    /// Runs a daemon for as long as the body.
    package static func with<Value>(
        _ configuration: DaemonConfiguration = DaemonConfiguration(), starts: Bool = true,
        _ body: (DaemonFixture) async throws -> Value
    ) async throws -> Value {
        let fixture = try DaemonFixture(configuration)
        defer { fixture.stopAtOnce() }
        return try await $currentLog.withValue(fixture.folder["issued.err"]) {
            do {
                if starts { try fixture.start() }
                return try await body(fixture)
            } catch {
                // It is recorded where the log is no longer at hand.
                throw Failure(description: "\(error)\nThe daemon has written:\n\(fixture.log.suffix(8192))")
            }
        }
    }

    /// Starts it, and returns when it is ready.
    package func start() throws {
        try launch()
        try waitUntilReady()
    }

    /// Starts it, and does not wait.
    package func launch(through launcher: [String] = [], arguments: [String]? = nil) throws {
        let own = [try TestBinaries.path(of: "issued")] + (arguments ?? ["--config", configurationFile])
        var command = launcher + own
        let program = command.removeFirst()
        notifications.passOver()
        let environment = ["NOTIFY_SOCKET": notifications.path].merging(configuration.environment) { $1 }
        process = try ChildProcess(program, command, in: folder, name: "issued", environment: environment)
    }

    package func waitUntilReady(within time: Duration = .seconds(30)) throws {
        try waits(for: "READY=1", within: time)
    }

    /// Waits until it has told the service manager so.
    package func waits(for line: String, within time: Duration = .seconds(30)) throws {
        let process = process
        guard try notifications.waits(for: line, within: time, while: { process?.isRunning == true }) else {
            throw NotReady(description: "The daemon did not say \(line).")
        }
    }

    // MARK: Changing it

    /// Writes its file; it reads it at its next start or reload.
    package func configure(_ configuration: DaemonConfiguration) throws {
        self.configuration = configuration
        try folder.write(
            configuration.file(socket: socket, database: database, tokenFile: tokenFile), to: "issued.conf")
    }

    package func writeToken(_ token: String) throws {
        try folder.write(token + "\n", to: "token")
    }

    /// Has it read its file again, and returns when it has.
    package func reload() throws {
        process?.tell(SIGHUP)
        try waits(for: "RELOADING=1")
        try waitUntilReady()
    }

    // MARK: Ending it

    /// Ends it at once, as a power cut would.
    package func kill() throws {
        process?.send(SIGKILL)
        try process?.end()
        process = nil
    }

    /// Asks it to end, and answers how it did.
    @discardableResult
    package func terminate(within time: Duration = .seconds(30)) throws -> ChildProcess.End? {
        process?.tell(SIGTERM)
        defer { process = nil }
        return try process?.end(within: time)
    }

    /// Waits until it has ended by itself.
    package func end(within time: Duration = .seconds(30)) throws -> ChildProcess.End? {
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

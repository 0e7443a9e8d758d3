import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

/// A store and a notifier that runs a program, whose exit status a test chooses.
final class NotifierFixture {
    private let folder: URL
    private let path: String
    private let settings: NotifierSettings
    private let log: Log
    let writer: WriterService
    let service: NotifierService
    private let statusRegistry: StatusRegistry
    private let lines = Monitor<[String]>([])
    private let writerThread: JoinableThread
    private let notifierThread: JoinableThread

    static func with(
        _ change: (inout NotifierSettings) -> Void = { _ in }, _ body: (NotifierFixture) throws -> Void
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "notifier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fixture = try NotifierFixture(folder, change)
        defer { fixture.stop() }
        try body(fixture)
    }

    private init(_ folder: URL, _ change: (inout NotifierSettings) -> Void) throws {
        self.folder = folder
        path = folder.appending(path: "issues.db").path
        try Data("0".utf8).write(to: folder.appending(path: "status"))
        try Data().write(to: folder.appending(path: "messages"))
        let script =
            "touch \(folder.path)/begun; while [ -e \(folder.path)/held ]; do sleep 0.01; done; "
            + "cat >> \(folder.path)/messages; echo >> \(folder.path)/messages; exit $(cat \(folder.path)/status)"
        var settings = NotifierSettings()
        settings.command = NotifierCommand("/bin/sh -c \"\(script)\"")
        settings.delay = .zero
        change(&settings)
        self.settings = settings

        let (lines, rate) = (lines, settings.escalation)
        let log = Log(level: .info, form: .plain) { line in
            lines.withLock { $0.append(line) }
            lines.broadcast()
        }
        self.log = log
        statusRegistry = StatusRegistry(path: path)
        let writer = WriterService(
            opening: StoreOpening(path: path, limits: LimitSettings(), retention: RetentionSettings()), log: .silent)
        writerThread = try JoinableThread(name: "writer") {
            writer.run(
                WriterService.Callbacks(
                    stored: { _ in }, refused: { _ in }, changed: { _ in }, mustReopen: {}, removed: {})
            ) { _ in }
        }
        self.writer = writer
        let id = try writer.perform { writer in
            let row = try writer.configureNotifiers(["oncall"]).rows[0]
            try writer.count(rate, notifier: row.id)
            return row.id
        }
        let service = NotifierService(
            NotifierConfiguration(name: "oncall", settings: settings), id: id, users: AccountableUsers(), path: path,
            host: "h", writer: writer, statusRegistry: statusRegistry, log: log, recoveryTime: .milliseconds(300))
        self.service = service
        notifierThread = try JoinableThread(name: "notifier") { service.run() }
    }

    private func stop() {
        service.stop()
        notifierThread.join()
        writer.stop()
        writerThread.join()
    }

    /// Starts notifiers with these names and the program of this fixture, in place of the fixture's own service.
    ///
    /// - Parameter misconfigured: The names of notifiers whose sections have an error.
    func start(_ notifiers: Notifiers, _ names: String..., misconfigured: [String] = []) throws -> Bool {
        service.stop()
        notifierThread.join()
        var configuration = Configuration.default
        configuration.notifiers = names.map { NotifierConfiguration(name: $0, settings: settings) }
        configuration.misconfiguredNotifiers = misconfigured.map {
            MisconfiguredNotifier(name: $0, settings: NotifierSettings())
        }
        return try notifiers.start(configuration, path: path, writer: writer, statusRegistry: statusRegistry, log: log)
    }

    // MARK: The store

    /// Stores records in one commit, and tells the notifier.
    func report(_ messages: String...) throws {
        let records = messages.map { IssueRecord(message: $0, app: Application(name: "shop")) }
        let submission = try Submission(records)
        _ = try writer.perform { try $0.commit([submission], wall: Clock.wall, monotonic: Clock.monotonic) }
        service.changesArrived()
        service.recordsArrived()
    }

    /// Changes the database as another program would.
    func execute(_ sql: String) throws {
        try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(5)).execute(composedSQL: sql)
    }

    /// Makes each statement of a kind fail, such as `INSERT ON notices`, until `repair()`.
    func fail(_ statement: String, when condition: String = "1") throws {
        try execute(
            "CREATE TRIGGER fault BEFORE \(statement) WHEN \(condition) BEGIN SELECT RAISE(ABORT, 'fault'); END")
    }

    func repair() throws {
        try execute("DROP TRIGGER fault")
    }

    // MARK: The program

    /// Chooses the exit status of the program.
    func exit(with status: Int) throws {
        try Data("\(status)".utf8).write(to: folder.appending(path: "status"), options: .atomic)
    }

    /// Makes the program wait until `releaseProgram()` before it reads its message.
    func holdProgram() throws {
        try? FileManager.default.removeItem(at: folder.appending(path: "begun"))
        try Data().write(to: folder.appending(path: "held"))
    }

    func releaseProgram() throws {
        try FileManager.default.removeItem(at: folder.appending(path: "held"))
    }

    /// Whether the program has run since `holdProgram()`.
    var hasProgramBegun: Bool { FileManager.default.fileExists(atPath: folder.appending(path: "begun").path) }

    /// The messages that the program got.
    var messages: [JSONValue] {
        get throws {
            let text = try String(contentsOf: folder.appending(path: "messages"), encoding: .utf8)
            return try text.split(separator: "\n").map { try JSONValue(json: String($0)) }
        }
    }

    // MARK: Status and log

    var status: NotifierStatus? { statusRegistry.statusWithoutStore(viewer: .everything).notifiers.first }

    func status(of name: String) -> NotifierStatus? {
        statusRegistry.statusWithoutStore(viewer: .everything).notifiers.first { $0.name == name }
    }

    /// The number of lines of the log about an event.
    func lineCount(_ event: LogEvent) -> Int {
        lines.withLock { lines in lines.count { $0.contains("id=\(event.id)") } }
    }

    /// The lines of the log about an event.
    func logged(_ event: LogEvent) -> [String] {
        lines.withLock { lines in lines.filter { $0.contains("id=\(event.id)") } }
    }

    /// Waits for a line of the log.
    func waits(for event: LogEvent, count: Int = 1) -> Bool {
        lines.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) { lines in
            lines.count { $0.contains("id=\(event.id)") } >= count ? true : nil
        } ?? false
    }

    /// Waits until a condition is true.
    func eventually(
        _ comment: Comment, sourceLocation: Testing.SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
    ) throws {
        let deadline = Clock.monotonic.advanced(by: .seconds(60))
        while try !condition() {
            try #require(Clock.monotonic < deadline, comment, sourceLocation: sourceLocation)
            usleep(5000)
        }
    }

    /// Waits until the service has ended on its own.
    func hasEnded() -> Bool { notifierThread.wait(until: MonotonicClock.now.advanced(by: .seconds(60))) }
}

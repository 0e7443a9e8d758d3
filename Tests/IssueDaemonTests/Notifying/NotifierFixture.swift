import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

/// A store and a notifier that runs a program, whose exit status a test chooses.
final class NotifierFixture {
    private let folder: ScratchFolder
    private let path: String
    private let settings: NotifierSettings
    private let log: Log
    let writer: WriterService
    let service: NotifierService
    private let statusRegistry: StatusRegistry
    private let lines: () -> [String]
    private let notifierThread: JoinableThread

    static func with(
        _ change: (inout NotifierSettings) -> Void = { _ in }, _ body: (NotifierFixture) throws -> Void
    ) throws {
        let folder = try ScratchFolder()
        try WriterService.with(folder["issues.db"]) { writer in
            let fixture = try NotifierFixture(folder, writer, change)
            defer { fixture.stop() }
            try body(fixture)
        }
    }

    private init(
        _ folder: ScratchFolder, _ writer: WriterService, _ change: (inout NotifierSettings) -> Void
    ) throws {
        self.folder = folder
        self.writer = writer
        path = folder["issues.db"]
        try folder.write("0", to: "status")
        try folder.write("", to: "messages")
        let script =
            "touch \(folder.path)/begun; while [ -e \(folder.path)/held ]; do sleep 0.01; done; "
            + "cat >> \(folder.path)/messages; echo >> \(folder.path)/messages; exit $(cat \(folder.path)/status)"
        var settings = NotifierSettings()
        settings.command = NotifierCommand("/bin/sh -c \"\(script)\"")
        settings.delay = .zero
        change(&settings)
        self.settings = settings

        let rate = settings.escalation
        (log, lines) = keptLog(.info)
        statusRegistry = StatusRegistry(path: path)
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
    }

    /// Starts notifiers with these names and the program of this fixture, in place of the fixture's own service.
    ///
    /// - Parameter misconfigured: The names of notifiers whose sections have an error.
    /// - Returns: `false` if a thread could not be started.
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

    /// Starts a notifier with this name and the program of this fixture, but without the store, in place of the
    /// fixture's own service.
    func startWithoutStore(_ notifiers: Notifiers, _ name: String) {
        service.stop()
        notifierThread.join()
        var configuration = Configuration.default
        configuration.notifiers = [NotifierConfiguration(name: name, settings: settings)]
        notifiers.startWithoutStore(configuration, path: path, statusRegistry: statusRegistry, log: log)
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

    /// Stores records in another database, imports them from it, and tells the notifier.
    ///
    /// - Parameter limits: The limits of the other database.
    func importRecords(_ records: [IssueRecord], limits: LimitSettings = LimitSettings()) throws {
        let old = folder["old.db"]
        do {
            let settings = StoreWriterSettings(path: old, limits: limits, randomBits: { 42 })
            _ = try StoreWriter(settings).commit([Submission(records)], wall: Clock.wall, monotonic: Clock.monotonic)
        }
        let store = try SetAsideStore(path: old, randomBits: 42)
        while let portion = store.step() {
            let submissions = portion.submissions
            _ = try writer.perform {
                try $0.importSalvaged(submissions, wall: Clock.wall, monotonic: Clock.monotonic)
            }
        }
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
        try Data("\(status)".utf8).write(to: URL(filePath: folder["status"]), options: .atomic)
    }

    /// Makes the program wait until `releaseProgram()` before it reads its message.
    func holdProgram() throws {
        try? folder.remove("begun")
        try folder.write("", to: "held")
    }

    func releaseProgram() throws {
        try folder.remove("held")
    }

    /// Whether the program has started since `holdProgram()`.
    var hasProgramBegun: Bool { folder.names.contains("begun") }

    /// The messages that the program got.
    var messages: [JSONValue] {
        get throws {
            try folder.text(of: "messages").split(separator: "\n").map { try JSONValue(json: String($0)) }
        }
    }

    // MARK: Status and log

    var status: NotifierStatus? { statusRegistry.statusWithoutStore(viewer: .everything).notifiers.first }

    func status(of name: String) -> NotifierStatus? {
        statusRegistry.statusWithoutStore(viewer: .everything).notifiers.first { $0.name == name }
    }

    /// The number of lines of the log about an event.
    func lineCount(_ event: LogEvent) -> Int { logged(event).count }

    /// The lines of the log about an event.
    func logged(_ event: LogEvent) -> [String] { lines().filter { $0.contains("id=\(event.id)") } }

    /// Waits until the log has `count` lines about an event.
    func wait(for event: LogEvent, count: Int = 1) throws {
        try waitUntil("the log has \(count) lines about \(event.id)") { lineCount(event) >= count }
    }

    /// Waits for the service to end on its own. Returns `false` if it is still running after a minute.
    func hasEnded() -> Bool { notifierThread.wait(until: MonotonicClock.now.advanced(by: .seconds(60))) }
}

import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// What a job works with while it runs.
struct JobRun {
    /// The daemon ends: what is not done yet is not done.
    struct Stopped: Error {}

    let path: String
    let writer: WriterService
    let log: Log
    private let isStopping: () -> Bool
    private let tell: ([UInt8]) -> Void
    private var toldAt: MonotonicInstant?

    /// How often it says how far it is.
    private static let interval: Duration = .milliseconds(250)

    init(
        path: String, writer: WriterService, log: Log, isStopping: @escaping () -> Bool,
        tell: @escaping ([UInt8]) -> Void
    ) {
        self.path = path
        self.writer = writer
        self.log = log
        self.isStopping = isStopping
        self.tell = tell
    }

    /// Where the database lies, and what the daemon puts beside it.
    var folder: String { FileSystem.parentFolder(of: path) }

    /// The database's name in its folder.
    var fileName: String { String(path.dropFirst(folder.count).drop { $0 == "/" }) }

    /// A reader whose snapshots end when the write-ahead log becomes too large.
    func reader() throws -> StoreReader {
        try StoreReader(path: path, control: writer.snapshots.control(.job))
    }

    /// Reads in one snapshot, and retries if the snapshot was ended because the write-ahead log was too large.
    func reading<Value>(_ body: () throws -> Value) throws -> Value {
        for _ in 1..<Self.maxAttempts {
            do { return try body() } catch StoreFailure.walTooLarge { try goOn() }
        }
        return try body()
    }

    private static let maxAttempts = 20

    /// Called between two steps of what nobody waits for: gives up when the daemon ends.
    func goOn() throws {
        guard !isStopping() else { throw Stopped() }
    }

    /// Pauses to let other threads work.
    func rest(_ duration: Duration) {
        _ = Monitor(0).wait(deadline: MonotonicClock.now.advanced(by: duration)) { _ -> Bool? in nil }
    }

    /// What is to stay free stays free: otherwise records would be removed to make room for a copy of them.
    func expectRoom(for bytes: Int64) throws {
        let keepFree = try writer.perform { $0.retention.keepFree }
        let free = Int64(clamping: try FileSystem.freeBytes(at: folder))
        guard free - bytes >= keepFree else {
            log.warning(
                "There is no room for a copy of the database, making none", ["bytes": "\(bytes)", "free": "\(free)"])
            throw CollectorError.noSpace
        }
    }

    /// Called between two steps: says how far it is now and then, and gives up when the daemon ends.
    mutating func progress(_ reply: some JSONCodable) throws {
        try goOn()
        let now = Clock.monotonic
        if let toldAt, toldAt.duration(to: now) < Self.interval { return }
        toldAt = now
        tell(VarlinkReply(parameters: reply.json, continues: true).message)
    }
}

import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// A small store with issues of two users. It is the same in every run, and has its own folder.
enum SampleStore {
    /// The folder of this process. If `.ci/fuzz` has started the process, the folder is in memory if possible.
    static let folder: String = {
        let parent = ProcessEnvironment["ISSUED_FUZZ_FOLDER"] ?? "/tmp"
        let folder = "\(parent)/issued-fuzz-\(Randomness.uint64())"
        do { try FileSystem.makeFolders(folder, mode: 0o700) } catch { fatalError("\(folder): \(error)") }
        return folder
    }()

    /// A stored record, with the values that were sent.
    struct Entry {
        var row: RowID
        var id: String
        var uid: UInt32
        var record: IssueRecord
        var receivedAt: IssueTimestamp
    }

    static let command = "shop"
    static let unit = "shop.service"

    static func settings(_ path: String, code: UInt64) -> StoreWriterSettings {
        var settings = StoreWriterSettings(path: path, limits: LimitSettings(), randomBits: { code })
        // A small value, so that the store has several closed ranges and an open one.
        settings.rangeRecords = 37
        return settings
    }

    /// Stores the calls with these numbers, and returns their records.
    static func fill(_ writer: StoreWriter, calls: Range<Int>) throws -> [Entry] {
        var entries: [Entry] = []
        var number = Int64(10 * calls.lowerBound)
        for call in calls {
            let uid: UInt32 = call % 4 == 3 ? 1001 : 1000
            let records = (0..<1 + call % 7).map { _ -> IssueRecord in
                number += 1
                return record(number)
            }
            let time = Duration.seconds(20 * call)
            let wall = start.advanced(by: time)
            let outcomes = try writer.commit(
                [submission(records, uid: uid)], wall: wall, monotonic: MonotonicInstant(sinceBoot: .seconds(9) + time))
            guard case .run(let first, let count) = outcomes[0].receipts, count == records.count else {
                fatalError("A record of the sample was not stored")
            }
            for (index, record) in records.enumerated() {
                let id = RecordID(store: first.store, row: first.row + index)
                entries.append(Entry(row: id.row, id: id.text, uid: uid, record: record, receivedAt: wall))
            }
            if call == 15 {
                let destination = StoreWriter.ConfiguredDestination(name: "a", kind: "logzio", takesBacklog: false)
                _ = try writer.configure([destination], at: wall)
            }
        }
        return entries
    }

    static let start = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private static func record(_ number: Int64) -> IssueRecord {
        let issue = number * 7 % 11
        var record = IssueRecord(message: "Order \(number) of a.b/c\(issue) timed out")
        if issue % 3 == 0 { record.message = "Disk \"d\(issue)\" is full" }
        if number % 40 == 0 { record.message = "\u{1}whole \(number)" }
        record.severity = IssueLevel(rank: UInt8(issue % 5))
        record.domain = issue == 7 ? nil : "com.d\(issue % 3)"
        record.code = issue % 2 == 0 ? issue : nil
        record.count = number % 5 == 0 ? 3 : nil
        record.app = Application(
            name: issue % 4 == 3 ? nil : "app\(issue % 4)", version: "1.\(number % 2)",
            environment: number % 3 == 0 ? "test" : nil)
        record.source = SourceLocation(fileID: "M\(issue)/d/F\(issue % 5).swift", line: issue, function: "f()")
        if number % 6 == 0 { record.metadata = ["number": .integer(number)] }
        if number % 25 == 0 { record.causes = [IssueCause(domain: "d", code: Int(number), message: "beneath")] }
        if number % 20 == 0 { record.metadata = ["long": .string(String(repeating: "long ", count: 1000))] }
        if number % 4 == 0 {
            record.context = IssueContext(
                traceID: String(repeating: "\(1 + number % 3)", count: 32), requestID: "r\(number % 5)",
                user: number % 8 == 0 ? "u" : nil)
        }
        return record
    }

    private static func submission(_ records: [IssueRecord], uid: UInt32) -> Submission {
        let sender = Sender(
            uid: uid, gid: uid, pid: 77, command: command, executable: "/usr/bin/shop", unit: unit)
        var batch = RecordBatch()
        var decoder = RecordDecoder(limits: RecordLimits(), seed: 99)
        for record in records {
            let json = record.json
            var scanner = JSONScanner(json.span, maximumDepth: 32, maximumKeys: 256)
            require((try? decoder.decode(&scanner, into: &batch)) == .some(.none), "A record of the sample was refused")
        }
        return Submission(
            process: ReportingProcess(connection: UInt64(uid), sender: sender, startTime: 4711), batch: batch,
            calls: [ReportCall(token: 0, records: 0..<records.count, rejected: [], numbering: nil)])
    }
}

import Foundation
import SQLiteKit
import Testing

@Suite("Errors")
struct SQLiteErrorTests {
    @Test("A primary code matches its extended codes, and an extended code only itself")
    func matching() {
        #expect(ResultCode.constraint ~= .uniqueConstraint)
        #expect(ResultCode.busy ~= .busySnapshot)
        #expect(ResultCode.uniqueConstraint ~= .uniqueConstraint)
        #expect(!(ResultCode.uniqueConstraint ~= .checkConstraint))
        #expect(!(ResultCode.uniqueConstraint ~= .constraint))
        #expect(!(ResultCode.busy ~= .uniqueConstraint))
        #expect(ResultCode.rowIDConstraint.primary == .constraint)
    }

    @Test("Errors are classified by how they can be handled")
    func classes() {
        func error(_ code: ResultCode, errno: Int32 = 0) -> SQLiteError {
            SQLiteError(code: code, message: "", systemErrno: errno)
        }
        #expect(error(.corrupt).isCorruption)
        #expect(error(ResultCode(rawValue: 11 | (2 << 8))).isCorruption)
        #expect(error(.notADatabase).isCorruption)
        #expect(!error(.inputOutput).isCorruption)
        #expect(!error(.error).isCorruption)
        #expect(error(.full).isFull)
        #expect(error(.writeFailed, errno: ENOSPC).isFull)
        #expect(error(.writeFailed, errno: EDQUOT).isFull)
        #expect(!error(.writeFailed, errno: EIO).isFull)
        #expect(!error(.corrupt, errno: ENOSPC).isFull)
        #expect(error(.busySnapshot).isBusy)
        #expect(!error(.locked).isBusy)
        #expect(error(.interrupted).isInterrupted)
    }

    @Test("The error of a violated constraint names its kind, the column and the SQL, but no value")
    func constraint() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a UNIQUE)")
            let insert = try Statement("INSERT INTO t VALUES (?)", on: connection)
            insert.bind("secret", at: 1)
            try insert.run()

            let error = thrown(SQLiteError.self) { try insert.run() }

            #expect(error?.code == .uniqueConstraint)
            #expect(error?.message == "UNIQUE constraint failed: t.a")
            #expect(error?.sql == "INSERT INTO t VALUES (?)")
            #expect(error.map { "\($0)".contains("secret") } == false)
        }
    }

    @Test("If the WAL cannot be synced, the error has the errno of that call")
    func walErrno() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            let name = descriptors.first { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasSuffix("\(database.path)-wal") == true
            }
            let wal = try #require(name.flatMap { Int32($0) })
            // fsync(2) of a pipe fails with EINVAL.
            let pipe = Pipe()
            #expect(dup2(pipe.fileHandleForReading.fileDescriptor, wal) == wal)
            let error = thrown(SQLiteError.self) { try connection.synchronizeFiles() }
            #expect(error?.systemErrno == EINVAL)
        }
    }

    @Test("Invalid SQL is an error with SQLite's message")
    func syntax() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            let error = thrown(SQLiteError.self) { _ = try Statement("SELEKT 1", on: connection) }
            #expect(error?.code == .error)
            #expect(error?.message.contains("SELEKT") == true)
        }
    }

    @Test("A damaged page is reported as corruption")
    func damage() throws {
        try TemporaryDatabase.with { database in
            do {
                let connection = try database.writer(checkpointsOnClose: true)
                try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))")
            }
            var file = try Data(contentsOf: URL(filePath: database.path))
            file.replaceSubrange(4096..<8192, with: repeatElement(0x5A, count: 4096))
            try file.write(to: URL(filePath: database.path))

            let error = thrown(SQLiteError.self) {
                _ = try database.writer().number("SELECT count(*) FROM t")
            }
            #expect(error?.isCorruption == true)
        }
    }
}

/// Codes that only tests distinguish (sqlite.org/rescode.html).
extension ResultCode {
    static let constraint = ResultCode(rawValue: 19)
    static let busySnapshot = ResultCode(rawValue: 5 | (2 << 8))
    static let writeFailed = ResultCode(rawValue: 10 | (3 << 8))
    static let checkConstraint = ResultCode(rawValue: 19 | (1 << 8))
    static let foreignKeyConstraint = ResultCode(rawValue: 19 | (3 << 8))
    static let primaryKeyConstraint = ResultCode(rawValue: 19 | (6 << 8))
    static let uniqueConstraint = ResultCode(rawValue: 19 | (8 << 8))
    static let rowIDConstraint = ResultCode(rawValue: 19 | (10 << 8))
}

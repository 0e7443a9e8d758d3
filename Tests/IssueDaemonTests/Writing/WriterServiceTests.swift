import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The writer of a store that is reported as damaged")
struct WriterServiceTests {
    private static let damage = StoreFailure.damaged(SQLiteError(code: .corrupt, message: ""))

    private func withWriter(_ body: (WriterService, _ refused: Monitor<Int>, _ damaged: Monitor<Bool>) throws -> Void)
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "issued-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let opening = StoreOpening(
            path: folder.appending(path: "issues.db").path, limits: LimitSettings(), retention: RetentionSettings())
        let writer = WriterService(opening: opening, log: .silent)
        let (refused, damaged) = (Monitor(0), Monitor(false))
        let thread = try JoinableThread(name: "writer") {
            writer.run(
                WriterService.Callbacks(
                    stored: { _ in },
                    refused: { refusals in
                        refused.withLock { $0 += refusals.count }
                        refused.broadcast()
                    },
                    changed: { _ in },
                    damaged: {
                        damaged.withLock { $0 = true }
                        damaged.broadcast()
                    }, removed: {})
            ) { _ in }
        }
        try body(writer, refused, damaged)
        writer.stop()
        thread.join()
    }

    private func isTrue(_ isSo: Monitor<Bool>) -> Bool {
        isSo.wait(deadline: MonotonicClock.now.advanced(by: .seconds(30))) { $0 ? true : nil } ?? false
    }

    @Test("It answers each later report with a request to retry, until it is stopped")
    func refuses() throws {
        try withWriter { writer, refused, damaged in
            writer.reportCorruption(Self.damage)
            #expect(isTrue(damaged))
            let process = ReportingProcess(connection: 1, sender: Sender(uid: 1, gid: 1, pid: 1), startTime: 0)
            for number in 1...20 {
                let call = ReportCall(token: UInt64(number), records: 0..<0, rejected: [], numbering: nil)
                _ = writer.submit(Submission(process: process, batch: RecordBatch(), calls: [call]))
                let isAnswered = refused.wait(deadline: MonotonicClock.now.advanced(by: .seconds(30))) {
                    $0 == number ? true : nil
                }
                #expect(isAnswered == true)
                guard isAnswered == true else { return }
            }
        }
    }

    @Test("It writes nothing more")
    func noErrands() throws {
        try withWriter { writer, _, damaged in
            writer.reportCorruption(Self.damage)
            #expect(isTrue(damaged))
            #expect(throws: WriterClosed.self) { try writer.perform { $0.closedRanges } }
        }
    }
}

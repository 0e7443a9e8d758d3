import Foundation
import IssueTestSupport
import Testing

extension DaemonFixture {
    /// Runs `issuectl` for this daemon until it ends. Records an issue of the test unless it ends as expected.
    @discardableResult
    func issuectl(
        _ arguments: [String], ends end: ChildProcess.End = .exit(0),
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws -> ChildProcess {
        let process = try ChildProcess(
            [try TestBinaries.path(of: "issuectl")] + arguments, in: folder, name: "issuectl-\(UUID().uuidString)",
            environment: ["ISSUED_SOCKET": socket])
        #expect(try process.end() == end, "\(process.output)\(process.errors)", sourceLocation: sourceLocation)
        return process
    }
}

import Foundation
import IssueTestSupport
import UnixIO

/// A reporter that runs one program after the other. Each program reports through the client library and ends.
///
/// An id that a program received is a receipt like any other. Records without one are in a spill file when the program
/// ends, or on their way to the daemon. They must be in the store once a later program has sent the spill files.
struct ProgramReporter {
    private static let name = "client-under-test"

    private let number: Int
    private let app: String
    private let pool: ReporterPool
    private let folder: ScratchFolder
    private let socket: String
    private let program: String
    private var generator: SeededGenerator
    private var runs = 0

    init(
        _ number: Int, app: String, _ pool: ReporterPool, socket: String, in folder: ScratchFolder, seed: UInt64
    ) throws {
        self.number = number
        self.app = app
        self.pool = pool
        self.socket = socket
        self.folder = folder
        program = try TestBinaries.path(of: Self.name)
        generator = SeededGenerator(seed &+ UInt64(number) &* 104_729)
    }

    mutating func run() {
        var settled = -1
        while true {
            let phase = pool.phase.withLock { ($0.activity, $0.number) }
            switch phase.0 {
            case .ended:
                pool.phase.withLock { $0.ended += 1 }
                pool.phase.broadcast()
                return
            case .settling where settled == phase.1:
                pool.waitForWork(after: phase.1)
            case .settling where leftovers.isEmpty:
                settled = phase.1
                pool.phase.withLock { if $0.number == phase.1 { $0.settled += 1 } }
                pool.phase.broadcast()
            case .settling:
                // This program sends what earlier ones have left, and one record of its own.
                runProgram(count: 1, pause: 0, timeout: 5000)
            case .reporting:
                runProgram(
                    count: Int.random(in: 1...500, using: &generator), pause: Int.random(in: 0...4, using: &generator),
                    timeout: [0, 0, 100, 1000][Int.random(in: 0...3, using: &generator)])
            }
        }
    }

    private var state: String { folder["programs-\(number)"] }

    /// The files of calls that wait for a later run.
    private var leftovers: [String] {
        let all = FileManager.default.enumerator(atPath: state)?.compactMap { $0 as? String } ?? []
        return all.filter { $0.hasSuffix(".call") }
    }

    private mutating func runProgram(count: Int, pause: Int, timeout: Int) {
        runs += 1
        let name = "program-\(number)-\(runs)"
        let (call, first) = pool.oracle.began(number, count: count) { _ in false }
        do {
            let process = try ChildProcess(
                program, ["receipts", "\(count)", "\(number),\(first),\(pause),\(timeout)"], in: folder, name: name,
                environment: [
                    "ISSUED_SOCKET": socket, "ISSUED_APP": app, "ISSUED_VERSION": "1.0", "XDG_STATE_HOME": state,
                ])
            let end = try process.end()
            if end != .exit(0) { pool.oracle.complain("\(name) ended with \(end): \(process.errors)") }
            pool.oracle.entrusted(number, call, ids: Self.ids(process.output))
        } catch {
            pool.oracle.complain("\(name): \(error)")
            pool.oracle.lost(number, call)
        }
        for suffix in ["out", "err"] { try? FileManager.default.removeItem(atPath: folder["\(name).\(suffix)"]) }
    }

    /// Returns the ids that the program received, by record number.
    private static func ids(_ output: String) -> [Int: String] {
        var ids: [Int: String] = [:]
        // The end of the process may truncate a line at the end of a page of the file.
        let lines = output.lastIndex(of: "\n").map { output[..<$0] } ?? ""
        for line in lines.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let number = Int(words[0]) else { continue }
            ids[number] = String(words[1])
        }
        return ids
    }
}

import Foundation
import IssueProtocol
import Issues
import UnixIO

@testable import IssueCommands

/// The result of a run of `issuectl`.
struct Outcome {
    var code: ExitCode
    var output: String
    var errors: String
    /// The calls without the sequence numbers of their records.
    var calls: [String]
    /// The calls, unchanged.
    var numberedCalls: [String] = []
    /// The calls kept for the next run.
    var kept: [String] = []
    /// The number of times that the command sent the calls kept by earlier runs.
    var sendings = 0
    /// How long the command has slept.
    var slept: Duration = .zero
}

/// A clock that advances only during sleep, and a folder for unsent calls.
final class ScriptedSurroundings {
    static let producer = "00000000-0000-4000-8000-000000000001"
    var time: Duration = .zero
    var kept: [String] = []
    var sendings = 0

    func surroundings(caller: String?, keeps: Int) -> ReportEnvironment {
        ReportEnvironment(
            now: { [self] in
                IssueTimestamp(millisecondsSince1970: noon.millisecondsSince1970 + time.components.seconds * 1000)
            },
            elapsed: { [self] in time },
            sleep: { [self] in time += $0 },
            makeProducer: { Self.producer }, caller: caller,
            keep: { [self] (call, producer, sequence) throws(SpillFailure) in
                guard kept.count < keeps else { throw SpillFailure("the folder /unsent is full") }
                kept.append("\(producer) \(sequence) \(String(decoding: call.dropLast(), as: UTF8.self))")
                return "/unsent"
            },
            sendSpooled: { [self] _ in sendings += 1 })
    }
}

/// Collects output, and can simulate a reader that closes the output after a number of writes.
final class CollectedOutput: CommandOutput {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    var writesLeft: Int

    init(writes: Int) {
        writesLeft = writes
    }

    func write(_ bytes: [UInt8]) -> Bool {
        guard writesLeft > 0 else { return false }
        writesLeft -= 1
        output += bytes
        return true
    }

    func writeError(_ bytes: [UInt8]) {
        errors += bytes
    }
}

/// Standard input that arrives in the given pieces.
final class ScriptedInput: CommandInput {
    private var pieces: [[UInt8]]

    init(_ pieces: [[UInt8]]) {
        self.pieces = pieces
    }

    func read() -> [UInt8]? {
        pieces.isEmpty ? nil : pieces.removeFirst()
    }
}

let noon = IssueTimestamp("2026-11-21T12:00:00Z") ?? IssueTimestamp(millisecondsSince1970: 0)

/// Runs `issuectl` at noon, on a terminal of the given width or, without a width, in a pipe.
///
/// Sockets whose path begins with `/absent` have no daemon. For backups, `/taken…` is an existing file, and `/full…` is
/// on a full disk.
///
/// - Parameters:
///   - writes: The number of writes after which the reader of the output has gone.
///   - keeps: The number of calls for which the folder of unsent calls has space.
func issuectl(
    _ arguments: [String], width: Int? = nil, rows: Int? = nil, environment: [String: String] = [:],
    input: [String] = [], bytes: [[UInt8]]? = nil, writes: Int = .max, caller: String? = nil, keeps: Int = .max,
    isInputTerminal: Bool = false,
    sql: SQLAccess = .program { (name) throws(CommandFailure) in throw CommandFailure(.unavailable, name) },
    tools: HostTools = .withoutRelativePaths,
    _ script: ScriptedLink.Reply...
) -> Outcome {
    let link = ScriptedLink(script)
    let output = CollectedOutput(writes: writes)
    var environment = environment
    // Colours are tested separately.
    if environment["TERM"] == nil { environment["TERM"] = "dumb" }
    let variables = environment
    let surroundings = ScriptedSurroundings()
    let context = CommandContext(
        environment: { variables[$0] }, now: noon,
        terminal: TerminalInfo(
            isTerminal: width != nil, columns: width, rows: rows, isInputTerminal: isInputTerminal),
        input: ScriptedInput(bytes ?? input.map { Array($0.utf8) }), output: output,
        files: FileSaving(
            check: { (destination) throws(CommandFailure) in
                if destination.hasPrefix("/taken") { throw CommandFailure(.refused, "it is there already") }
            },
            save: { (file, destination, name) throws(CommandFailure) in
                if destination.hasPrefix("/full") { throw CommandFailure(.refused, "the disk is full") }
                return destination.hasSuffix("/") ? destination + name : destination
            },
            replace: { (path, content) throws(Errno) in
                // Some tests pass any word as a path. These must not write a file.
                guard path.hasPrefix("/") else { throw .noSuchFile }
                try FileSystem.writeAtomically(content, to: path, mode: 0o644)
            }),
        reporting: surroundings.surroundings(caller: caller, keeps: keeps), sql: sql,
        tools: tools,
        makeLink: { (path) throws(CollectorConnectionError) in
            if let path, path.hasPrefix("/absent") {
                throw .unreachable(path: path, .noSuchFile)
            }
            return link
        })
    let code = IssueControl(context).run(arguments)
    return Outcome(
        code: code, output: String(decoding: output.output, as: UTF8.self),
        errors: String(decoding: output.errors, as: UTF8.self), calls: link.calls.map(withoutNumbers),
        numberedCalls: link.calls, kept: surroundings.kept, sendings: surroundings.sendings,
        slept: surroundings.time)
}

extension HostTools {
    /// The tools of this host, except that they write no relative path: some tests pass any word as a path, and the
    /// working folder is the repository. No user has a name, so that the output is the same on every host.
    static var withoutRelativePaths: Self {
        var tools = Self.process
        tools.userName = { _ in nil }
        let save = tools.save
        tools.save = { (content, path, isReplacing) throws(Failure) in
            guard path.hasPrefix("/") else { throw Failure(reason: "tests write no relative paths") }
            try save(content, path, isReplacing)
        }
        return tools
    }
}

private func withoutNumbers(_ call: String) -> String {
    guard call.hasPrefix("Report "), let start = call.range(of: #"],"producer":"#, options: .backwards) else {
        return call
    }
    return call[..<start.lowerBound] + "]}"
}

/// The names and summaries that `issuectl --help` lists.
let listedCommands: [(name: String, summary: String)] = {
    let lines = issuectl(["--help"]).output.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.drop { $0 != "Commands:" }.dropFirst().prefix { !$0.isEmpty }.map { line in
        let name = line.drop { $0 == " " }.prefix { $0 != " " }
        return (String(name), String(line[name.endIndex...].drop { $0 == " " }))
    }
}()

/// Returns the text with a final line feed, as a command prints it.
func lines(_ text: String) -> String { text + "\n" }

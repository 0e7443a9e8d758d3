import IssueProtocol
import Synchronization
import UnixIO

/// What the daemon says about itself: a constant message, what differs as fields, one line for each event.
///
/// It is handed to each service that has something to say. What is written
/// here is read by operators, so nothing that an application reported goes in
/// unless it is needed to understand the line.
package struct Log: Sendable {
    private let threshold: LogThreshold
    private let form: LogForm
    private let write: @Sendable (String) -> Void
    private let journal: SocketAddress?

    /// - Parameters:
    ///   - journal: The journal's socket, for events where the log goes to the journal.
    ///   - write: Takes one whole line, its end included.
    package init(
        level: LogLevel, form: LogForm, journal: String = JournalEntry.socketPath,
        write: @escaping @Sendable (String) -> Void = Log.writeToStandardError
    ) {
        self.journal = form == .journal ? try? SocketAddress.unix(journal) : nil
        threshold = LogThreshold(level)
        self.form = form
        self.write = write
    }

    package init(_ settings: LogSettings) {
        self.init(level: settings.level, form: .chosen(for: settings.target))
    }

    /// Says nothing at all; for what is tested for something else.
    package static var silent: Log {
        Log(level: .error, form: .plain, write: { _ in })
    }

    /// Holds at once for all who have this log, so that a reload reaches them.
    package func setLevel(_ level: LogLevel) {
        threshold.set(level)
    }

    package func isWritten(_ level: LogLevel) -> Bool {
        threshold.admits(level)
    }

    package func log(
        _ level: LogLevel, _ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]
    ) {
        guard threshold.admits(level) else { return }
        write(LogLine.text(level, message, fields(), form: form))
    }

    /// Something that operators wait for: in the journal an entry with its own number and fields, elsewhere a line as
    /// any.
    package func event(
        _ event: LogEvent, _ level: LogLevel, _ message: StaticString, _ fields: KeyValuePairs<String, String>
    ) {
        guard threshold.admits(level) else { return }
        let line = LogLine.text(level, message, fields, form: .bare)
        if let journal, (try? Socket.sendDatagram(JournalEntry(event, level, line, fields).bytes, to: journal)) != nil {
            return
        }
        write(LogLine.text(level, message, fields, form: form))
    }

    /// Where nobody can be told that the log is full or gone, going on is all there is.
    package static let writeToStandardError: @Sendable (String) -> Void = { line in
        try? StandardStream.error.writeAll(line)
    }
}

extension Log {
    package func debug(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.debug, message, fields())
    }

    package func info(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.info, message, fields())
    }

    package func notice(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.notice, message, fields())
    }

    package func warning(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.warning, message, fields())
    }

    package func error(_ message: StaticString, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.error, message, fields())
    }
}

/// What operators wait for, each with the number by which the journal finds all of its kind
/// (`journalctl MESSAGE_ID=…`). Documentation/Operations.md lists them.
package enum LogEvent: String, CaseIterable, Sendable {
    case newIssue = "44e9b1ed9cb14818ac2f4c543c815253"
    case criticalIssue = "028cbaba609d444e9eacaff93d7fc324"
    case regressedIssue = "89cf0acd27954fb2a29f217da22b5afe"
    case issuesUntold = "1a05aa5480d64bee8e8386fe8013454c"
    case destinationChanged = "74e83562eb804ea88d96a96eca8b26af"

    package var messageID: String { rawValue }
}

/// How much a line of the log matters, by the words of journald.
package enum LogLevel: String, CaseIterable, Comparable, Hashable, Sendable {
    case debug, info, notice, warning, error

    /// The number that syslog(3) has for it; the graver, the smaller.
    package var priority: UInt8 {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.priority > right.priority
    }
}

/// The level from which on lines are written, shared by all who hold the log.
final class LogThreshold: Sendable {
    private let priority: Atomic<UInt8>

    init(_ level: LogLevel) {
        priority = Atomic(level.priority)
    }

    func set(_ level: LogLevel) {
        priority.store(level.priority, ordering: .relaxed)
    }

    func admits(_ level: LogLevel) -> Bool {
        level.priority <= priority.load(ordering: .relaxed)
    }
}

/// Where the log goes (`Target=`).
package enum LogTarget: String, CaseIterable, Hashable, Sendable {
    /// To the journal where standard error leads there, else as plain lines.
    case auto
    case journal, stderr
}

/// The audit trail of requests that change or hand out what is stored.
///
/// The fields are stable. `request`, `uid`, `pid` and `command` are in both lines; the kernel says the first two of the
/// requester, and the command is what the process calls itself.
extension Log {
    func began(_ request: String, by requester: Sender, _ parameters: String) {
        notice(
            "Operator request started",
            [
                "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
                "command": requester.command ?? "", "parameters": parameters,
            ])
    }

    /// - Parameter result: `done`, or the reason why not.
    func ended(_ request: String, by requester: Sender, result: String) {
        notice(
            "Operator request finished",
            [
                "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
                "command": requester.command ?? "", "result": result,
            ])
    }
}

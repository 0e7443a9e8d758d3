package import IssueProtocol
import Synchronization
import UnixIO

/// The diagnostic log of the daemon.
///
/// An event is one line: a constant message, followed by fields for everything that varies and the identifier of the
/// event. Operators read the log, so it contains nothing that an application reported unless the line can't be
/// understood without it.
package struct Log: Sendable {
    private let priority: Priority
    private let form: LogForm
    private let write: @Sendable (String) -> Void
    private let journal: SocketAddress?

    /// The lowest level that is written, shared by all copies of a log.
    private final class Priority: Sendable {
        let value: Atomic<UInt8>

        init(_ level: LogLevel) {
            value = Atomic(level.priority)
        }
    }

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - level: The lowest level that is written.
    ///   - form: The format of a line.
    ///   - journal: The socket of the journal, for events if `form` is `.journal`.
    ///   - write: Called with each line, which ends with a line feed.
    package init(
        level: LogLevel, form: LogForm, journal: String = JournalEntry.socketPath,
        write: @escaping @Sendable (String) -> Void = Log.writeToStandardError
    ) {
        self.journal = form == .journal ? try? SocketAddress.unix(journal) : nil
        priority = Priority(level)
        self.form = form
        self.write = write
    }

    /// Creates the log that `[Log]` configures.
    package init(_ settings: LogSettings) {
        self.init(level: settings.level, form: .chosen(for: settings.target))
    }

    /// A log that writes nothing, for tests.
    package static var silent: Log {
        Log(level: .error, form: .plain, write: { _ in })
    }

    /// Changes the level for all copies of this log, so that a reload affects every service.
    package func setLevel(_ level: LogLevel) {
        priority.value.store(level.priority, ordering: .relaxed)
    }

    /// Returns whether lines of a level are written.
    package func isWritten(_ level: LogLevel) -> Bool {
        level.priority <= priority.value.load(ordering: .relaxed)
    }

    /// Writes a line, unless its level is below the log's. The fields are evaluated only if the line is written.
    ///
    /// In the journal, an event is an entry with fields of its own. Elsewhere, and if the journal does not take it, it
    /// is an ordinary line.
    package func log(
        _ level: LogLevel, _ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]
    ) {
        assert(LogEvent.all.contains(event), "Add \(event.id) to LogEvent.all")
        if isWritten(level) { write(level, event, fields()) }
    }

    /// Writes a line without the fields whose value is nil, unless its level is below the log's.
    package func log(_ level: LogLevel, _ event: LogEvent, present fields: KeyValuePairs<String, String?>) {
        assert(LogEvent.all.contains(event), "Add \(event.id) to LogEvent.all")
        guard isWritten(level) else { return }
        write(level, event, fields.compactMap { field in field.value.map { (key: field.key, value: $0) } })
    }

    private func write(
        _ level: LogLevel, _ event: LogEvent, _ fields: some Sequence<(key: String, value: String)>
    ) {
        if let journal, (try? Socket.sendDatagram(JournalEntry(event, level, fields).bytes, to: journal)) != nil {
            return
        }
        write(LogLine.text(level, event, fields, form: form))
    }

    /// Writes to standard error. Errors are ignored, since there is nowhere to report them.
    package static let writeToStandardError: @Sendable (String) -> Void = { line in
        try? StandardStream.error.writeAll(line)
    }
}

extension Log {
    package func debug(_ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.debug, event, fields())
    }

    package func info(_ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.info, event, fields())
    }

    package func notice(_ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.notice, event, fields())
    }

    package func warning(_ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.warning, event, fields())
    }

    package func error(_ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]) {
        log(.error, event, fields())
    }
}

/// The severity of a log line, with journald's names.
package enum LogLevel: String, CaseIterable, Comparable, Hashable, Sendable {
    case debug, info, notice, warning, error

    /// The priority of syslog(3), from 7 for debug to 3 for error.
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

/// The destination of the log (`Target=`).
package enum LogTarget: String, CaseIterable, Hashable, Sendable {
    /// The journal if standard error leads there, otherwise plain lines.
    case auto
    case journal, stderr
}

/// The audit trail of operator requests, which change or hand out stored data.
///
/// The fields are stable. Both lines contain `request`, `uid`, `pid` and `command`. The kernel provides uid and pid;
/// the command is the name that the process has given itself.
extension Log {
    func began(_ request: String, by requester: Sender, _ parameters: String) {
        audit(.auditRequestStarted, request, requester, "parameters", parameters)
    }

    /// Logs the end of a request.
    ///
    /// - Parameter result: `done`, or the reason for the failure.
    func ended(_ request: String, by requester: Sender, result: String) {
        audit(.auditRequestFinished, request, requester, "result", result)
    }

    private func audit(_ event: LogEvent, _ request: String, _ requester: Sender, _ name: String, _ value: String) {
        notice(
            event,
            [
                "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
                "command": requester.command ?? "", name: value,
            ])
    }
}

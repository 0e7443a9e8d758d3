package import IssueProtocol
import Synchronization
import UnixIO

/// The diagnostic log of the daemon.
///
/// An event is one line: a constant message, followed by fields for everything that varies and the identifier of the
/// event. Operators read the log. Therefore, data from applications is included only in lines that can't be understood
/// without it.
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
    ///   - journal: The path of the journal's socket. It is used only if `form` is `.journal`.
    ///   - write: Called with each line that is not sent to that socket. The line ends with a line feed.
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

    /// Returns `true` if lines of a level are written.
    package func isWritten(_ level: LogLevel) -> Bool {
        level.priority <= priority.value.load(ordering: .relaxed)
    }

    /// Writes a line, unless its level is below the log's. The fields are evaluated only if the line is written.
    ///
    /// In the journal, an event is an entry with fields of its own. If the journal does not accept the entry, or if the
    /// log goes elsewhere, the event is a line of text. May be called on any thread.
    package func log(
        _ level: LogLevel, _ event: LogEvent, _ fields: @autoclosure () -> KeyValuePairs<String, String> = [:]
    ) {
        assert(LogEvent.all.contains(event), "Add \(event.id) to LogEvent.all")
        if isWritten(level) { write(level, event, fields()) }
    }

    /// Writes a line without the fields whose value is nil, unless the line's level is below the log's. The fields are
    /// always evaluated.
    package func log(_ level: LogLevel, _ event: LogEvent, present fields: KeyValuePairs<String, String?>) {
        write(level, event, present: Array(fields))
    }

    private func write(_ level: LogLevel, _ event: LogEvent, present fields: [(key: String, value: String?)]) {
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

/// The severity of a log line.
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
    /// The journal if standard error is connected to it; otherwise lines with the time on standard error.
    case auto
    case journal, stderr
}

/// The audit trail of requests that only operators may send, and of changes. Dry runs are left out.
///
/// The fields are stable. Each line contains `uid`, `pid` and `command`, and `request` unless its event implies it. The
/// kernel provides uid and pid; `command` is the name of the process, which the process can change.
extension Log {
    /// Logs the start of a request. `parameters` must not contain text of records.
    func began(_ request: String, by requester: Sender, _ parameters: String) {
        audit(.auditRequestStarted, request, by: requester, ["parameters": parameters])
    }

    /// Logs the end of a request.
    ///
    /// - Parameter result: How the request ended, for example `done`, `done: ID`, `timed out` or an error.
    func ended(_ request: String, by requester: Sender, result: String) {
        audit(.auditRequestFinished, request, by: requester, ["result": result])
    }

    /// Logs a request, without the fields whose value is nil.
    ///
    /// - Parameter request: The name of the request; nil if the event implies it.
    func audit(
        _ event: LogEvent, _ request: String? = nil, by requester: Sender, _ fields: KeyValuePairs<String, String?>
    ) {
        let requesterFields: KeyValuePairs<String, String?> = [
            "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
            "command": requester.command ?? "",
        ]
        write(.notice, event, present: Array(requesterFields) + Array(fields))
    }
}

/// Formats an event as a single line, regardless of what its fields contain.
package enum LogLine {
    /// The maximum length of a value, in Unicode scalars. Longer values are truncated.
    private static let valueLimit = 1024

    package static func text(
        _ level: LogLevel, _ event: LogEvent, _ fields: some Sequence<(key: String, value: String)>, form: LogForm
    ) -> String {
        let message = event.message
        var line =
            switch form {
            case .journal: "<\(level.priority)>\(message)"
            case .plain: "issued: \(level.rawValue): \(message)"
            case .dated: "\(Clock.wall) issued: \(level.rawValue): \(message)"
            case .bare: "\(message)"
            }
        for (name, value) in fields { line += " \(name)=\(quoted(value))" }
        line += " id=\(event.id)"
        return form == .bare ? line : line + "\n"
    }

    private static func quoted(_ value: String) -> String {
        var text = ""
        var needsQuotes = value.isEmpty
        for scalar in value.unicodeScalars.prefix(valueLimit) {
            switch scalar {
            case "\"", "\\":
                text += "\\\(scalar)"
                needsQuotes = true
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case _ where mayDeceive(scalar):
                text += "\\u{\(String(scalar.value, radix: 16))}"
            case " ", "=":
                text.unicodeScalars.append(scalar)
                needsQuotes = true
            case _:
                text.unicodeScalars.append(scalar)
            }
        }
        if value.unicodeScalars.count > valueLimit { text += "…" }
        return needsQuotes || text.contains("\\") ? "\"\(text)\"" : text
    }

    /// Returns `true` if a scalar could control a terminal, or make one line look like another or like two.
    private static func mayDeceive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case _: false
        }
    }
}

/// The format of a log line.
package enum LogForm: Hashable, Sendable {
    /// With a syslog priority in front, as journald expects on standard error.
    case journal
    /// With the name of the level in front, for people.
    case plain
    /// With the time in front of that, for a file or a terminal.
    case dated
    /// The message and fields alone, for a journal entry that has the level in a field.
    case bare
}

extension LogForm {
    /// Returns the format for a target.
    ///
    /// - Parameters:
    ///   - stream: The value of `JOURNAL_STREAM`: device and inode of the standard error that the service manager set
    ///     up; nil if the variable is not set.
    ///   - device: The device of the current standard error, which may have been redirected; nil if it is unknown.
    ///   - inode: The inode of the current standard error; nil if it is unknown.
    package static func chosen(
        for target: LogTarget, stream: String?, device: UInt64?, inode: UInt64?
    ) -> LogForm {
        let leadsToJournal = if let stream, let device, let inode { stream == "\(device):\(inode)" } else { false }
        return switch target {
        case .journal: .journal
        // The journal adds the time itself.
        case .stderr: leadsToJournal ? .plain : .dated
        case .auto: leadsToJournal ? .journal : .dated
        }
    }

    /// Returns the format for a target and the standard error of this process.
    package static func chosen(for target: LogTarget) -> LogForm {
        let status = try? StandardStream.error.duplicate().status()
        return chosen(
            for: target, stream: ProcessEnvironment["JOURNAL_STREAM"], device: status?.device, inode: status?.inode)
    }
}

/// A journal entry in journald's native protocol, with fields that can be searched.
///
/// Each field is `NAME=value` and a line feed. If a value contains a line feed, the name is followed by a line feed and
/// the length of the value in bytes, as a 64-bit little-endian integer, instead of `=`. Source: "Native Journal
/// Protocol" in systemd's documentation.
package struct JournalEntry {
    package static let socketPath = "/run/systemd/journal/socket"
    /// A quarter of the maximum length of a value, in bytes. Any text of this number of Unicode scalars, the maximum of
    /// a field in `LogLine`, fits. The limit also applies to `MESSAGE`, which contains all fields.
    private static let valueLimit = 1024

    package private(set) var bytes: [UInt8] = []

    /// Creates the entry.
    package init(_ event: LogEvent, _ level: LogLevel, _ fields: some Sequence<(key: String, value: String)>) {
        add("MESSAGE", LogLine.text(level, event, fields, form: .bare))
        add("PRIORITY", "\(level.priority)")
        add("SYSLOG_IDENTIFIER", "issued")
        add("MESSAGE_ID", event.messageID)
        for (name, value) in fields { add("ISSUED_\(name.uppercased())", value) }
        add("ISSUED_ID", event.id)
    }

    private mutating func add(_ name: String, _ value: String) {
        var value = Array(value.utf8.prefix(Self.valueLimit * 4 + 1))
        if value.count > Self.valueLimit * 4 {
            // A character must not be split, because journalctl does not show text that is not UTF-8.
            while let byte = value.popLast(), byte & 0xC0 == 0x80 {}
        }
        bytes += Array(name.utf8)
        if value.contains(UInt8(ascii: "\n")) {
            bytes.append(UInt8(ascii: "\n"))
            let count = UInt64(value.count)
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }
}

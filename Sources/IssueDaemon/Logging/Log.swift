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

    /// Something that operators wait for: in the journal an entry with its own number and fields, elsewhere a line as any.
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

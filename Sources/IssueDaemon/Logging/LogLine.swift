package import IssueProtocol
import UnixIO

/// Formats an event as a single line, regardless of what its fields contain.
package enum LogLine {
    /// The maximum length of a value, in Unicode scalars. Longer values are truncated because they often come from
    /// outside.
    private static let valueLimit = 1024

    package static func text(
        _ level: LogLevel, _ event: LogEvent, _ fields: some Sequence<(key: String, value: String)>, form: LogForm
    ) -> String {
        let message = event.message
        var line =
            switch form {
            case .journal: "<\(level.priority)>\(message)"
            case .plain: "issued: \(level.rawValue): \(message)"
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

    /// Returns whether a scalar could control a terminal, or make one line look like another or like two.
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
    /// The message and fields alone, for a journal entry that has the level in a field.
    case bare
}

extension LogForm {
    /// Returns the format for a target.
    ///
    /// - Parameters:
    ///   - stream: The value of `JOURNAL_STREAM`: device and inode of the standard error that the service manager set
    ///     up.
    ///   - device: The device of standard error now. It may have been redirected since.
    ///   - inode: The inode of standard error now.
    package static func chosen(
        for target: LogTarget, stream: String?, device: UInt64?, inode: UInt64?
    ) -> LogForm {
        switch target {
        case .journal: .journal
        case .stderr: .plain
        case .auto:
            if let stream, let device, let inode, stream == "\(device):\(inode)" { .journal } else { .plain }
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
/// the length of the value as 64-bit little-endian integer instead of `=`. Source: "Native Journal Protocol" in
/// systemd's documentation.
package struct JournalEntry {
    package static let socketPath = "/run/systemd/journal/socket"
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

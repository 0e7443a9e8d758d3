import UnixIO

/// One event as one line, whatever is in it.
package enum LogLine {
    /// A longer value is cut: it comes from outside as often as not.
    private static let valueLimit = 1024

    package static func text(
        _ level: LogLevel, _ message: StaticString, _ fields: KeyValuePairs<String, String>, form: LogForm
    ) -> String {
        var line =
            switch form {
            case .journal: "<\(level.priority)>\(message)"
            case .plain: "issued: \(level.rawValue): \(message)"
            case .bare: "\(message)"
            }
        for (name, value) in fields { line += " \(name)=\(quoted(value))" }
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

    /// What a terminal obeys, or what makes a line look like another or like two.
    private static func mayDeceive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case _: false
        }
    }
}

/// How a line of the log is written.
package enum LogForm: Hashable, Sendable {
    /// With the priority before it, as the journal takes it from standard error.
    case journal
    /// For people.
    case plain
    /// Without anything before or behind it, for an entry that says the rest in fields.
    case bare
}

extension LogForm {
    /// What a target means for a process with that standard error.
    ///
    /// - Parameters:
    ///   - stream: `JOURNAL_STREAM`, which holds device and inode of what the
    ///     service manager has made standard error.
    ///   - device: The device of what standard error is now; it may have been
    ///     redirected since.
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

    /// What a target means for this process.
    package static func chosen(for target: LogTarget) -> LogForm {
        let status = try? StandardStream.error.duplicate().status()
        return chosen(
            for: target, stream: Environment["JOURNAL_STREAM"], device: status?.device, inode: status?.inode)
    }
}

/// An entry for the journal in its own protocol, with fields that can be searched by.
///
/// Source: "Native Journal Protocol" in systemd's documentation: `NAME=value` and
/// a line feed each; a value with a line feed in it has its length, as 64 bits in
/// little endian, between name and value.
package struct JournalEntry {
    package static let socketPath = "/run/systemd/journal/socket"
    private static let valueLimit = 1024

    package private(set) var bytes: [UInt8] = []

    package init(_ event: LogEvent, _ level: LogLevel, _ line: String, _ fields: KeyValuePairs<String, String>) {
        add("MESSAGE", line)
        add("PRIORITY", "\(level.priority)")
        add("SYSLOG_IDENTIFIER", "issued")
        add("MESSAGE_ID", event.messageID)
        for (name, value) in fields { add("ISSUED_\(name.uppercased())", value) }
    }

    private mutating func add(_ name: String, _ value: String) {
        let value = Array(value.utf8.prefix(Self.valueLimit * 4))
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

/// An entry for the journal in its own protocol, with fields that can be searched by.
///
/// Source: "Native Journal Protocol" in systemd's documentation: `NAME=value` and
/// a line feed each; a value with a line feed in it has its length, as 64 bits in
/// little endian, between name and value.
package struct JournalEntry {
    package static let socketPath = "/run/systemd/journal/socket"
    private static let valueLimit = 1024

    private(set) var bytes: [UInt8] = []

    init(_ event: LogEvent, _ level: LogLevel, _ line: String, _ fields: KeyValuePairs<String, String>) {
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

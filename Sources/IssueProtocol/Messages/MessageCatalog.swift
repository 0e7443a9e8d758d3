/// The journal's catalog of all messages, with which `journalctl -x` explains them.
///
/// `issued --list-catalog` prints it, and a test compares it with `config/journal/issued.catalog`. The format is that of
/// systemd's "Journal Message Catalogs".
package enum MessageCatalog {
    package static var text: String {
        var ids: [String] = []
        var events: [String: [LogEvent]] = [:]
        for event in LogEvent.all {
            if events[event.messageID] == nil { ids.append(event.messageID) }
            events[event.messageID, default: []].append(event)
        }
        let head =
            "# The messages of issued for journalctl -x.\n# Generated: issued --list-catalog >config/journal/issued.catalog\n"
        return head + ids.map { entry($0, events[$0] ?? []) }.joined()
    }

    /// Returns the entry of the events that share a message id.
    private static func entry(_ id: String, _ events: [LogEvent]) -> String {
        let subject = events.count == 1 ? events[0].message : "A destination has changed its state"
        let paragraphs = events.flatMap { event in
            let lead = events.count == 1 ? "" : "\(event.id) (\(event.message)): "
            return [lead + plain(event.meaning), event.action.map { "What to do: \(plain($0))" }].compactMap(\.self)
        }
        let header = "-- \(id)\nSubject: \(subject)\nDefined-By: issued\nDocumentation: man:issued(8)\n"
        return "\n\(header)\n" + paragraphs.map { wrapped($0) }.joined(separator: "\n\n") + "\n"
    }

    /// Returns the text without the marks of Markdown. Links become their text.
    package static func plain(_ markdown: String) -> String {
        var text = ""
        var rest = markdown[...]
        while let character = rest.popFirst() {
            switch character {
            case "`": continue
            case "[":
                // `[text](target)`; other brackets, such as those of `[Socket]`, stay.
                guard let end = rest.firstRange(of: "]("), let close = rest[end.upperBound...].firstIndex(of: ")"),
                    !rest[..<end.lowerBound].contains("]")
                else {
                    text.append(character)
                    continue
                }
                text += rest[..<end.lowerBound]
                let target = rest[end.upperBound..<close].prefix { $0 != "#" }
                if !text.hasSuffix(String(target)) { text += " (\(target))" }
                rest = rest[rest.index(after: close)...]
            default: text.append(character)
            }
        }
        return text
    }

    /// Breaks a paragraph into lines of at most 80 characters.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > 80 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// Returns the message id that belongs to the identifier of an event: a hash, since both never change.
    ///
    /// It consists of two 64-bit FNV-1a hashes, with different texts in front of the identifier.
    package static func messageID(of id: String) -> String {
        [hash("issued \(id)"), hash("MESSAGE_ID \(id)")].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

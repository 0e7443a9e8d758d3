import IssueProtocol

/// Formats JSON for users.
enum PrettyJSON {
    /// Returns the lines of a value. An array without nested arrays and objects is on one line if this line has at most
    /// `width` columns.
    static func lines(_ value: JSONValue, width: Int) -> [String] {
        var lines: [String] = []
        append(value, before: "", after: "", depth: 0, width: width, to: &lines)
        return lines
    }

    /// Returns a JSON object that contains an array.
    ///
    /// - Parameters:
    ///   - member: The name of the member whose value is the array.
    ///   - elements: The elements of the array, as JSON.
    ///   - hasMore: Whether there are further elements. The object then has the member `more`, too.
    ///   - unreadable: The number of elements that cannot be read. If it is above 0, the object has the member
    ///     `unreadable`.
    static func document(
        _ member: String, _ elements: [[UInt8]], hasMore: Bool = false, unreadable: Int64 = 0
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(member)
            writer.openArray()
            for element in elements { writer.raw(element) }
            writer.closeArray()
            if hasMore { writer.member("more", true) }
            if unreadable > 0 { writer.member("unreadable", unreadable) }
        }
        return writer.bytes
    }

    private static func append(
        _ value: JSONValue, before: String, after: String, depth: Int, width: Int, to lines: inout [String]
    ) {
        let indent = String(repeating: "  ", count: depth)
        let short = indent + before + minified(value) + after
        switch value {
        case .null, .bool, .integer, .number, .string:
            lines.append(short)
        case .array(let elements):
            guard !fits(value, short, in: width) else { return lines.append(short) }
            lines.append(indent + before + "[")
            for (index, element) in elements.enumerated() {
                let comma = index == elements.count - 1 ? "" : ","
                append(element, before: "", after: comma, depth: depth + 1, width: width, to: &lines)
            }
            lines.append(indent + "]" + after)
        case .object(let members):
            guard !members.isEmpty else { return lines.append(short) }
            lines.append(indent + before + "{")
            for (index, member) in members.enumerated() {
                let comma = index == members.count - 1 ? "" : ","
                let key = minified(.string(member.key)) + ": "
                append(member.value, before: key, after: comma, depth: depth + 1, width: width, to: &lines)
            }
            lines.append(indent + "}" + after)
        }
    }

    private static func fits(_ value: JSONValue, _ text: String, in width: Int) -> Bool {
        guard case .array(let elements) = value else { return false }
        let isFlat = elements.allSatisfy { element in
            switch element {
            case .null, .bool, .integer, .number, .string: true
            case .array, .object: false
            }
        }
        return isFlat && DisplayWidth.of(text) <= width
    }

    private static func minified(_ value: JSONValue) -> String {
        TerminalSanitizer.line(String(decoding: value.json, as: UTF8.self))
    }
}

/// Escapes characters in JSON that a terminal would interpret, without changing the meaning of the JSON.
package enum TerminalSafeJSON {
    /// Returns the JSON with control characters, bidirectional marks and other invisible characters escaped in strings.
    ///
    /// Outside of strings, these characters become spaces, except for line feeds and tabs. The input may be malformed.
    package static func escape(_ json: [UInt8]) -> [UInt8] {
        var safe: [UInt8] = []
        safe.reserveCapacity(json.count)
        var isInString = false
        var isEscaped = false
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            let followsBackslash = isEscaped
            isEscaped = false
            switch scalar {
            case "\"" where !followsBackslash: isInString.toggle()
            case "\\" where isInString && !followsBackslash: isEscaped = true
            case "\n", "\t":
                if !isInString {
                    safe.append(UInt8(scalar.value))
                    continue
                }
            default: break
            }
            guard TerminalSanitizer.needsEscape(scalar) else {
                safe.append(contentsOf: String(scalar).utf8)
                continue
            }
            // The escape may follow a backslash, but then the JSON was already invalid.
            if isInString {
                for unit in String(scalar).utf16 { safe += escape(unit) }
            } else {
                safe.append(UInt8(ascii: " "))
            }
        }
        return safe
    }

    private static func escape(_ unit: UInt16) -> [UInt8] {
        Array("\\u\(String(hexadecimal: unit, width: 4))".utf8)
    }
}

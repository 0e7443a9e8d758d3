import IssueProtocol

/// Escapes in JSON what a terminal would obey, without changing what the JSON means.
package enum TerminalSafeJSON {
    /// Returns the JSON with control characters, marks of direction and other invisible characters escaped in strings.
    ///
    /// A line that a daemon gave as text may be anything. Outside of strings, a
    /// control character other than a line feed or a tab becomes a space.
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
            guard HarmlessText.isActive(scalar) else {
                safe.append(contentsOf: String(scalar).utf8)
                continue
            }
            // An active character after a backslash is invalid JSON, whether it is escaped or not.
            if isInString {
                for unit in String(scalar).utf16 { safe += escape(unit) }
            } else {
                safe.append(UInt8(ascii: " "))
            }
        }
        return safe
    }

    private static func escape(_ unit: UInt16) -> [UInt8] {
        let digits = String(unit, radix: 16)
        return Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
    }
}

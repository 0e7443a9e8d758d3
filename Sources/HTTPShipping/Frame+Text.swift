package import IssueProtocol

extension Frame {
    /// The frame as one line for people, with what is needed to find its name where it has none.
    package var text: String {
        var parts: [String] = []
        if let symbol { parts.append(symbol) }
        if let file { parts.append("at \(file)\(line.map { ":\($0)" } ?? "")") }
        let place = [image, offset.map { "0x\(String(UInt64(bitPattern: $0), radix: 16))" }].compactMap(\.self)
        if !place.isEmpty {
            parts.append(symbol == nil ? place.joined(separator: "+") : "in \(place.joined(separator: "+"))")
        }
        if symbol == nil, let buildID { parts.append("(build \(buildID))") }
        let text = parts.isEmpty ? "?" : parts.joined(separator: " ")
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
    }
}

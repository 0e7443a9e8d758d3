extension RequestHead {
    /// Parses the bytes before the empty line.
    init(parsing bytes: [UInt8]) throws(ConnectionEnd) {
        var lines = Self.lines(of: bytes)
        let request = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard request.count == 3, request[2] == "HTTP/1.1" || request[2] == "HTTP/1.0",
            !request[0].isEmpty, !request[1].isEmpty
        else { throw .malformed }

        var headers: [HTTPField] = []
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { throw .malformed }
            headers.append(
                HTTPField(String(line[..<colon]), Self.trimmed(String(line[line.index(after: colon)...]))))
        }
        func values(_ name: String) -> [String] {
            headers.filter { $0.name.lowercased() == name }.map { $0.value.lowercased() }
        }

        method = String(request[0])
        target = String(request[1])
        self.headers = headers
        let connection = values("connection")
        keepsAlive = request[2] == "HTTP/1.1" ? !connection.contains("close") : connection.contains("keep-alive")
        expectsContinue = request[2] == "HTTP/1.1" && values("expect").contains("100-continue")

        let lengths = Set(values("content-length"))
        switch values("transfer-encoding") {
        case []:
            guard let text = lengths.first else {
                framing = .none
                return
            }
            guard lengths.count == 1, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(text)
            else { throw .malformed }
            framing = .length(length)
        case ["chunked"]:
            // Contradictory framing would allow two interpretations of the body.
            guard lengths.isEmpty else { throw .malformed }
            framing = .chunked
        default:
            throw .malformed
        }
    }

    private static func lines(of bytes: [UInt8]) -> [String] {
        var lines: [String] = []
        var start = 0
        for index in bytes.indices where bytes[index] == 0x0A && index > 0 && bytes[index - 1] == 0x0D {
            lines.append(String(decoding: bytes[start..<(index - 1)], as: UTF8.self))
            start = index + 1
        }
        lines.append(String(decoding: bytes[start...], as: UTF8.self))
        return lines
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return String(text)
    }
}

/// A response as received.
struct RawAnswer: Hashable {
    var status: Int
    var headers: [String: String]
    var body: String

    /// Parses the response at the start of the bytes and returns its length; nil until it is complete.
    static func parse(_ bytes: [UInt8]) -> (answer: RawAnswer, length: Int)? {
        let end = Array("\r\n\r\n".utf8)
        guard let head = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).split(separator: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
        }
        let start = head + 4
        let status = Int(lines.first?.split(separator: " ").dropFirst().first ?? "") ?? 0
        // An interim response has no body and no header that declares its length.
        let length = status < 200 ? 0 : headers["content-length"].flatMap { Int($0) } ?? 0
        guard bytes.count >= start + length else { return nil }
        let body = String(decoding: bytes[start..<(start + length)], as: UTF8.self)
        return (RawAnswer(status: status, headers: headers, body: body), start + length)
    }
}

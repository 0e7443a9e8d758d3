/// The request line and the headers.
struct RequestHead: Hashable, Sendable {
    /// How the end of the body is determined.
    enum Framing: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    let method: String
    let target: String
    let headers: [HTTPField]
    let framing: Framing
    let keepsAlive: Bool
    let expectsContinue: Bool

    /// The target before the question mark.
    var path: String {
        String(target.prefix { $0 != "?" })
    }

    /// The declared length of the body; 0 without a body, nil for a chunked one.
    var declaredLength: Int? {
        switch framing {
        case .none: 0
        case .length(let length): length
        case .chunked: nil
        }
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Returns the first value of a query parameter, with its escapes resolved.
    func query(_ name: String) -> String? {
        rawQuery(name).map(Self.unescaped)
    }

    /// The target with the token replaced with a part of its hash.
    var targetWithoutToken: String {
        guard let question = target.firstIndex(of: "?") else { return target }
        let query = target[target.index(after: question)...]
        let written = query.split(separator: "&", omittingEmptySubsequences: false).map { parameter -> String in
            guard parameter.hasPrefix("token="), parameter.count > 6 else { return String(parameter) }
            return "token=" + TokenHash.prefix(of: Self.unescaped(String(parameter.dropFirst(6))))
        }
        return target[...question] + written.joined(separator: "&")
    }

    private func rawQuery(_ name: String) -> String? {
        guard let question = target.firstIndex(of: "?") else { return nil }
        for parameter in target[target.index(after: question)...].split(separator: "&") {
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0] == name { return parts.count > 1 ? String(parts[1]) : "" }
        }
        return nil
    }

    private static func unescaped(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var resolved: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let byte = UInt8(String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
            {
                resolved.append(byte)
                index += 3
            } else {
                resolved.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return String(decoding: resolved, as: UTF8.self)
    }
}

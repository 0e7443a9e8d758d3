/// The address of a destination: scheme, host, port and path. It contains no secrets.
package struct HTTPAddress: Hashable, Sendable {
    package enum Scheme: String, CaseIterable, Hashable, Sendable {
        case http
        case https

        /// The default port of the scheme.
        var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    package let scheme: Scheme
    package let host: String
    package let port: UInt16
    package let path: String

    package init(scheme: Scheme, host: String, port: UInt16, path: String = "/") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Parses a URL. Returns nil if it contains anything but a scheme, host, port and path.
    package init?(url: String) {
        guard let scheme = Scheme.allCases.first(where: { url.lowercased().hasPrefix("\($0.rawValue)://") }) else {
            return nil
        }
        let rest = url.utf8.dropFirst(scheme.rawValue.utf8.count + 3)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        guard let (host, port) = Self.hostAndPort(Substring(authority)), rest.allSatisfy(Self.isPlain) else {
            return nil
        }
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.defaultPort
        let path = String(Substring(rest.dropFirst(authority.count)))
        self.path = path.isEmpty ? "/" : path
    }

    /// The host and port, for display.
    package var origin: String { "\(host):\(port)" }

    /// The URL without a query.
    package var url: String { "\(scheme.rawValue)://\(origin)\(path)" }

    private static func hostAndPort(_ text: Substring) -> (host: String, port: UInt16?)? {
        let end: Substring.Index
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            let address = text[..<bracket].dropFirst()
            guard !address.isEmpty, address.utf8.allSatisfy(isAddressPart) else { return nil }
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            guard text[..<end].utf8.allSatisfy(isNamePart) else { return nil }
        }
        guard end > text.startIndex else { return nil }
        let host = String(text[..<end])
        guard end < text.endIndex else { return (host, nil) }
        let digits = text[end...].dropFirst()
        guard text[end] == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
            port > 0
        else { return nil }
        return (host, port)
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "-._".utf8.contains(byte)
    }

    private static func isAddressPart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".") || (0x30...0x39).contains(byte)
            || (0x61...0x66).contains(byte | 0x20)
    }

    /// A query or fragment is not allowed, since the token is sent in the query.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            && byte != UInt8(ascii: "\\")
    }
}

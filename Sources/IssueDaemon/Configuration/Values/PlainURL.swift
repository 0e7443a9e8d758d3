/// The address of a listener: a URL without anything in it that is secret.
package struct PlainURL: Hashable, Sendable {
    package let scheme: String
    /// A name, or an address; one of IPv6 with its brackets.
    package let host: String
    /// Nil means the usual one of the scheme.
    package let port: UInt16?
    /// At least `/`.
    package let path: String

    package init(scheme: String, host: String, port: UInt16?, path: String = "/") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Nil also for a URL with a user, a query or a fragment, since that is
    /// where secrets stand.
    package init?(_ text: String, schemes: Set<String>) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.contains(where: { "?#@\\\"<>".contains($0) })
        else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, schemes.contains(parts[0].lowercased()), parts[1].hasPrefix("//") else { return nil }
        scheme = parts[0].lowercased()

        let rest = parts[1].dropFirst(2)
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        self.path = path.isEmpty ? "/" : String(path)
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        self.host = host
        self.port = port
    }

    package var isSecure: Bool { scheme == "https" }

    package var text: String {
        "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(path)"
    }

    private static func hostAndPort(_ authority: Substring) -> (String, UInt16?)? {
        let host: Substring
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[...close]
            let address = host.dropFirst().dropLast()
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                return nil
            }
        } else {
            host = authority.prefix { $0 != ":" }
            guard !host.isEmpty, host.utf8.count <= 253,
                host.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "-._".contains($0) })
            else { return nil }
        }
        let rest = authority.dropFirst(host.count)
        if rest.isEmpty { return (host.lowercased(), nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit), let port = UInt16(digits), port > 0
        else { return nil }
        return (host.lowercased(), port)
    }
}

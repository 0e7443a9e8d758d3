/// The URL of a proxy, without anything in it that is secret.
enum ProxyURL {
    private static let schemes: Set<String> = ["http", "https", "socks5", "socks5h"]

    /// False also for a URL with a user, since that is where a password stands.
    static func isUsable(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 4 && parts[3].isEmpty, parts[1].isEmpty,
            parts[0].last == ":", schemes.contains(String(parts[0].dropLast()))
        else { return false }
        return isAuthority(parts[2])
    }

    private static func isAuthority(_ text: Substring) -> Bool {
        let end: Substring.Index
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]"),
                text[..<close].dropFirst().allSatisfy({ $0.isASCII && $0.isHexDigit || $0 == ":" || $0 == "." })
            else { return false }
            end = text.index(after: close)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            guard text[..<end].allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "-._".contains($0) }) else {
                return false
            }
        }
        guard end > text.startIndex else { return false }
        let port = text[end...]
        guard !port.isEmpty else { return true }
        return port.first == ":" && port.dropFirst().allSatisfy(\.isASCIIDigit) && UInt16(port.dropFirst()) ?? 0 > 0
    }
}

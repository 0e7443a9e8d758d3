import Glibc

/// The proxy that stands before a peer, for people: libcurl asks it by itself and does not say so.
package enum ProxyName {
    /// Host and port of the proxy through which a request goes; nothing where it goes straight to its peer.
    static func text(for request: HTTPRequest, to origin: HTTPOrigin) -> String? {
        text(for: request, to: origin, variable)
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// The passwords in the URLs of proxies that the environment names, decoded.
    package static func environmentPasswords() -> [[UInt8]] {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        return names.compactMap(variable).compactMap(password)
    }

    /// The password in the URL of a proxy, decoded, or nil when it has none.
    static func password(in proxy: String) -> [UInt8]? {
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let authority = proxy[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return nil
        }
        let text = Array(authority[authority.index(after: colon)..<at].utf8)
        var password: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let byte = UInt8(String(decoding: text[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                password.append(byte)
                index += 3
            } else {
                password.append(text[index])
                index += 1
            }
        }
        return password.isEmpty ? nil : password
    }

    /// - Parameter environment: What a variable says; libcurl goes by the usual ones.
    static func text(
        for request: HTTPRequest, to origin: HTTPOrigin, _ environment: (String) -> String?
    ) -> String? {
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        // HTTP_PROXY is what a CGI is told by a stranger, so libcurl does not read it.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : [scheme.uppercased() + "_PROXY"])
        let proxy = request.proxy ?? (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap(environment).first
        guard let proxy, !proxy.isEmpty, !isExcepted(origin, environment) else { return nil }
        // It may hold a password, which must not be shown.
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let place = "http://\(proxy[start...])"
        return HTTPOrigin(url: place)?.description ?? "(of a name that can't be read)"
    }

    private static func isExcepted(_ origin: HTTPOrigin, _ environment: (String) -> String?) -> Bool {
        let exceptions = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
        let host = origin.host.lowercased()
        return exceptions.split { $0 == "," || $0 == " " }.contains { exception in
            let name = exception.lowercased().drop { $0 == "." }
            return name == "*" || host == name || host.hasSuffix(".\(name)")
        }
    }
}

import Glibc

/// The proxy that stands before a peer, for people: libcurl asks it by itself and does not say so.
enum ProxyName {
    /// Host and port of the proxy through which a request goes; nothing where it goes straight to its peer.
    static func text(for request: HTTPRequest, to origin: HTTPOrigin) -> String? {
        text(for: request, to: origin) { name in
            guard let value = unsafe getenv(name) else { return nil }
            return unsafe String(cString: value)
        }
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

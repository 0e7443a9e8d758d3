import Testing

@testable import HTTPTransfer

@Suite struct ProxyTests {
    @Test("A configured proxy is used instead of the peer")
    func given() throws {
        let proxy = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK")
        }
        var request = HTTPRequest.post(to: 80, host: "peer.invalid")
        request.proxy = "http://127.0.0.1:\(proxy.port)"
        var client = HTTPClient()
        let response = try client.perform(request)
        #expect(response.status == 200)
        #expect(response.proxy == nil)
        #expect(proxy.requests.first?.head.hasPrefix("POST http://peer.invalid/?token=") == true)
    }

    @Test("An error response names the proxy that may have sent it, unless that is SOCKS or the request was encrypted")
    func responder() throws {
        let proxy = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("403 Forbidden")
        }
        var request = HTTPRequest.post(to: 80, host: "peer.invalid")
        request.proxy = "http://user:\(markedToken)@127.0.0.1:\(proxy.port)"
        var client = HTTPClient()
        #expect(try client.perform(request).proxy == "127.0.0.1:\(proxy.port)")
        #expect(proxy.requests.first?.head.contains("Proxy-Authorization: Basic ") == true)

        let origin = try #require(HTTPOrigin(url: request.url))
        request.proxy = "socks5://p:1080"
        #expect(ProxyName.responder(to: request, for: origin) == nil)
        request = .post(to: 80, scheme: "https", host: "peer.invalid")
        request.proxy = "http://p:1"
        #expect(ProxyName.responder(to: request, for: origin) == nil)
        #expect(ProxyName.text(for: request, to: origin) == "p:1")
    }

    @Test(
        "A refused tunnel is a proxy failure or, after a 407, an authentication failure; the proxy sees no query",
        arguments: [
            ("407 Proxy Authentication Required", HTTPTransferError.Code.proxyAuthentication),
            ("403 Forbidden", .proxy),
        ])
    func refusedTunnel(status: String, code: HTTPTransferError.Code) throws {
        let proxy = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer(status, headers: ["Connection: close"])
        }
        var request = HTTPRequest.post(to: 8071, scheme: "https", host: "peer.invalid")
        request.proxy = "http://user:\(markedToken)@127.0.0.1:\(proxy.port)"
        let error = fault(of: request)
        #expect(error?.code == code)
        #expect(error?.bodyFullySent == false)
        #expect(error?.message.contains(" returned \(status.prefix(3)) for peer.invalid:8071") == true)
        #expect(proxy.requests.first?.head.hasPrefix("CONNECT peer.invalid:8071 ") == true)
        #expect(proxy.requests.first?.head.contains("Proxy-Authorization: Basic ") == true)
        #expect(proxy.requests.first?.head.contains(markedToken) == false)
    }

    @Test("A proxy whose name cannot be resolved is a proxy failure")
    func unresolved() {
        var request = HTTPRequest.post(to: 80)
        request.proxy = "http://\(String(repeating: "a", count: 70)).invalid:3128"
        #expect(fault(of: request)?.code == .proxy)
    }

    @Test("The error for an unreachable proxy names the proxy, without its password, and the peer")
    func refusing() {
        var request = HTTPRequest.post(to: 80, host: "peer.invalid")
        request.proxy = "http://user:\(markedToken)@127.0.0.1:1"
        let error = fault(of: request)
        #expect(error?.code == .refused)
        #expect(error?.message == "Could not connect to the proxy 127.0.0.1:1 for peer.invalid:80: Connection refused")
    }

    private static let environments: [String] = [
        "https https_proxy=http://p:1 -> p:1", "https HTTPS_PROXY=p:1 -> p:1", "https http_proxy=p:1 ->",
        "http HTTP_PROXY=p:1 ->", "http all_proxy=socks5://u:w@p:1 -> p:1", "http http_proxy=p:1 no_proxy=* ->",
        "http http_proxy=p:1 no_proxy=a.b,.Peer.invalid ->", "http http_proxy=p:1 no_proxy=eer.invalid -> p:1",
        "http http_proxy=p -> p:1080", "http http_proxy=http://p: -> p:1080",
        "http http_proxy=http://[::1] -> [::1]:1080",
        "http http_proxy=http://u:w@[::1]:3/ -> [::1]:3", "http http_proxy=http://p:80 -> p:80",
        "http http_proxy=http://u:w@p/ -> p:1080",
        "https https_proxy=https://p -> p:443",
        "http http_proxy=HTTPS://p:80 -> p:80", "http ->",
        // An empty variable counts as unset (lib/getenv.c).
        "https https_proxy= HTTPS_PROXY=p:1 -> p:1", "https https_proxy= all_proxy=p:1 -> p:1",
        "http http_proxy=p:1 no_proxy= NO_PROXY=* ->", "http http_proxy= all_proxy= ->",
    ]

    @Test("The proxy of the environment is determined as by libcurl", arguments: environments)
    func environment(line: String) throws {
        let words = line.split(separator: " ")
        let name = words.last == "->" ? nil : words.last
        var variables: [String: String] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        }
        var request = HTTPRequest.post(to: 80, scheme: String(words[0]), host: "peer.invalid")
        request.proxy = nil
        let origin = try #require(HTTPOrigin(url: request.url))
        let found = ProxyName.text(for: request, to: origin) { variables[$0] }
        #expect(found == name.map { String($0) })
    }
}

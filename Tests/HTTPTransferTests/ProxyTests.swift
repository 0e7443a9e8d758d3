import HTTPTransfer
import Testing

@Suite struct ProxyTests {
    @Test("A given proxy is asked in place of the peer")
    func given() throws {
        let proxy = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK")
        }
        var request = HTTPRequest.post(to: 80, host: "peer.invalid")
        request.proxy = "http://127.0.0.1:\(proxy.port)"
        var client = HTTPClient()
        #expect(try client.perform(request).status == 200)
        #expect(proxy.requests.first?.head.hasPrefix("POST http://peer.invalid/?token=") == true)
    }

    @Test("A proxy that refuses the tunnel is a fault of the proxy, and never sees the query")
    func refusedTunnel() throws {
        let proxy = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("407 Proxy Authentication Required", headers: ["Connection: close"])
        }
        var request = HTTPRequest.post(to: 8071, scheme: "https", host: "peer.invalid")
        request.proxy = "http://user:\(markedToken)@127.0.0.1:\(proxy.port)"
        let error = fault(of: request)
        #expect(error?.code == .proxy)
        #expect(error?.bodyFullySent == false)
        #expect(error?.sentence.contains("407") == true)
        #expect(proxy.requests.first?.head.hasPrefix("CONNECT peer.invalid:8071 ") == true)
        #expect(proxy.requests.first?.head.contains(markedToken) == false)
    }

    @Test("A proxy whose name has no address")
    func unresolved() {
        var request = HTTPRequest.post(to: 80)
        request.proxy = "http://\(String(repeating: "a", count: 70)).invalid:3128"
        #expect(fault(of: request)?.code == .proxy)
    }
}

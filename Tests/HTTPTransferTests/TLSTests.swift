import HTTPTransfer
import Testing

@Suite(.enabled(if: TLSPeer.isAvailable, "The command /usr/bin/openssl is required to create certificates"))
struct TLSTests {
    private static func request(to port: UInt16, caFile: String?) -> HTTPRequest {
        var request = HTTPRequest.post(to: port, scheme: "https")
        // The server of `openssl` responds only to GET.
        request.method = .get
        request.body = []
        request.url = "https://127.0.0.1:\(port)/?token=\(markedToken)"
        request.caFile = caFile
        return request
    }

    @Test("A peer with a certificate of the given authority is trusted")
    func trusted() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1")
        var client = HTTPClient()
        #expect(try client.perform(Self.request(to: peer.port, caFile: peer.caFile)).status == 200)
    }

    @Test("A peer with a certificate of an unknown authority is not trusted")
    func unknownAuthority() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1")
        let error = fault(of: Self.request(to: peer.port, caFile: nil))
        #expect(error?.code == .tls)
        #expect(error?.bodyFullySent == false)
        #expect(error?.message.contains("unknown authority") == true)
    }

    @Test("A certificate of another authority than the given one is not trusted")
    func otherAuthority() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1")
        let other = try TLSPeer(name: "IP:127.0.0.1")
        #expect(fault(of: Self.request(to: peer.port, caFile: other.caFile))?.code == .tls)
    }

    @Test("A certificate for another name is not accepted")
    func wrongName() throws {
        let peer = try TLSPeer(name: "DNS:other.example")
        let error = fault(of: Self.request(to: peer.port, caFile: peer.caFile))
        #expect(error?.code == .tls)
        #expect(error?.bodyFullySent == false)
        #expect(error?.message.contains("another host name") == true)
    }

    @Test("An expired certificate is not accepted")
    func expired() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1", days: -1)
        let error = fault(of: Self.request(to: peer.port, caFile: peer.caFile))
        #expect(error?.code == .tls)
        #expect(error?.message.contains("expired") == true)
    }

    @Test("A peer that only supports insecure versions is rejected")
    func oldVersion() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1", options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
        #expect(fault(of: Self.request(to: peer.port, caFile: peer.caFile))?.code == .tls)
    }

    @Test("A missing CA file is an error")
    func missingFile() throws {
        let peer = try TLSPeer(name: "IP:127.0.0.1")
        let error = fault(of: Self.request(to: peer.port, caFile: "/nonexistent/ca.pem"))
        #expect(error?.code == .tls)
        #expect(error?.message.contains("CA file /nonexistent/ca.pem") == true)
    }

    @Test("A peer without TLS is an error")
    func plaintext() throws {
        let listener = try ScriptedListener { connection in
            connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            connection.readToEnd()
        }
        let error = fault(of: Self.request(to: listener.port, caFile: nil))
        #expect(error?.code == .tls)
        #expect(error?.bodyFullySent == false)
    }

    @Test("A handshake without a response ends with a connection timeout")
    func stalledHandshake() throws {
        let listener = try ScriptedListener { $0.readToEnd() }
        var request = Self.request(to: listener.port, caFile: nil)
        request.connectTimeout = .milliseconds(200)
        let error = fault(of: request)
        #expect(error?.code == .connectTimeout)
        #expect(error?.bodyFullySent == false)
    }
}

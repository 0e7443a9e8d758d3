import Dispatch
import Glibc
import HTTPTransfer
import Testing

@Suite struct FaultTests {
    @Test("A connection to a port without a listener is refused")
    func refused() throws {
        let listener = try ScriptedListener { _ in }
        listener.stopListening()
        let error = fault(of: .post(to: listener.port))
        #expect(error?.code == .refused)
        #expect(error?.bodyFullySent == false)
        #expect(error?.message.contains("127.0.0.1:") == true)
    }

    @Test("A host name without an address cannot be resolved")
    func unresolved() {
        // Longer than a label may be, so that no name server is queried.
        let name = String(repeating: "a", count: 70) + ".invalid"
        let error = fault(of: .post(to: 80, host: name))
        #expect(error?.code == .resolve)
        #expect(error?.bodyFullySent == false)
    }

    @Test("A peer that reads the request but does not respond causes a timeout")
    func silent() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.readToEnd()
        }
        var request = HTTPRequest.post(to: listener.port)
        request.totalTimeout = .milliseconds(200)
        let error = fault(of: request)
        #expect(error?.code == .timeout)
        #expect(error?.bodyFullySent == true)
    }

    @Test("A peer that does not read causes a timeout")
    func unread() throws {
        let isOver = DispatchSemaphore(value: 0)
        defer { isOver.signal() }
        let listener = try ScriptedListener { connection in
            connection.readHead()
            isOver.wait()
        }
        var request = HTTPRequest.largePost(to: listener.port)
        request.totalTimeout = .milliseconds(300)
        let error = fault(of: request)
        #expect(error?.code == .timeout)
        #expect(error?.bodyFullySent == false)
    }

    @Test("A response that arrives byte by byte does not extend the total timeout")
    func dripping() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while connection.write("x") { usleep(10_000) }
        }
        var request = HTTPRequest.post(to: listener.port)
        request.totalTimeout = .milliseconds(300)
        let error = fault(of: request)
        #expect(error?.code == .timeout)
        #expect(error?.bodyFullySent == true)
    }

    @Test("A reset in the middle of the body is a lost connection")
    func resetInBody() throws {
        let listener = try ScriptedListener { connection in
            connection.readHead()
            connection.resetAtEnd()
        }
        let error = fault(of: .largePost(to: listener.port))
        #expect(error?.code == .connectionLost)
        #expect(error?.bodyFullySent == false)
    }

    @Test("A connection that ends before the response is lost", arguments: [false, true])
    func endBeforeAnswer(withReset: Bool) throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            if withReset { connection.resetAtEnd() }
        }
        let error = fault(of: .post(to: listener.port))
        #expect(error?.code == .connectionLost)
        #expect(error?.bodyFullySent == true)
    }

    @Test("A truncated response with a success status is a lost connection")
    func truncatedAnswer() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789")
        }
        let error = fault(of: .post(to: listener.port))
        #expect(error?.code == .connectionLost)
        #expect(error?.bodyFullySent == true)
    }

    @Test(
        "A response that is not HTTP is malformed",
        arguments: [
            "\u{1}\u{2}\u{3}GARBAGE \(markedToken)\r\n\r\n", "SSH-2.0-\(markedToken)\r\n",
            "HTTP/7.9 \(markedToken)\r\n\r\n", "HTTP/1.1 +200 OK\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n",
            "HTTP/1.1 0200 OK\r\n\r\n",
        ])
    func garbage(answer: String) throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write(answer)
        }
        let error = fault(of: .post(to: listener.port))
        #expect(error?.code == .malformedResponse)
        #expect(error?.bodyFullySent == true)
    }

    @Test("A response with endless headers is malformed")
    func endlessHeaders() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n")
            while connection.write("X-More: \(String(repeating: "y", count: 1000))\r\n") {}
        }
        let error = fault(of: .post(to: listener.port))
        #expect(error?.code == .malformedResponse)
    }

    @Test("If the first attempt was sent completely, the request may have arrived although the second was refused")
    func lostThenRefused() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK")
            connection.readRequest()
            connection.stopListening()
            connection.resetAtEnd()
        }
        var client = HTTPClient()
        #expect(try client.perform(.post(to: listener.port)).status == 200)
        let error = fault(of: .post(to: listener.port), client: &client)
        #expect(error?.code == .refused)
        #expect(error?.bodyFullySent == true)
    }

    @Test(
        "An invalid URL is an invalid request, not a network failure",
        arguments: [
            "", "127.0.0.1/?token=\(markedToken)", "ftp://127.0.0.1/?token=\(markedToken)",
            "http://a b/?token=\(markedToken)", "http://127.0.0.1/\0?token=\(markedToken)",
            "file:///etc/\(markedToken)", "http://[::1/?token=\(markedToken)", "http://h:99999/?token=\(markedToken)",
        ])
    func unusableURL(url: String) {
        var request = HTTPRequest(url: url)
        request.proxy = ""
        #expect(fault(of: request)?.code == .invalidRequest)
    }

    @Test(
        "A header is rejected if its name is invalid, or if it contains a line break or a zero byte",
        arguments: [("X", "a\r\nY: b"), ("X\r\nY", "a"), ("", "a"), ("X Y", "a"), ("X:", "a"), ("X", "a\0b")])
    func unusableHeader(name: String, value: String) {
        var request = HTTPRequest.post(to: 1)
        request.headers.append(name: name, value: value + markedToken)
        #expect(fault(of: request)?.code == .invalidRequest)
    }

    @Test("A printed request does not reveal secrets")
    func printedRequest() {
        var request = HTTPRequest.post(to: 8071)
        request.headers.append(name: "Authorization", value: "Basic \(markedToken)")
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), String(describing: [request]), dumped] {
            #expect(!text.contains(markedToken))
        }
        #expect(request.description == "POST 127.0.0.1:8071, 2 bytes")
    }

    @Test("The client can be used again after any lost connection or invalid response")
    func recovery() throws {
        let listener = try ScriptedListener { connection in
            while connection.readRequest() != nil { connection.answer("200 OK") }
        }
        let scripts: [(@Sendable (ScriptedConnection) -> Void, HTTPTransferError.Code)] = [
            ({ $0.readHead() }, .connectionLost),
            (
                { connection in
                    connection.readRequest()
                    connection.resetAtEnd()
                }, .connectionLost
            ),
            (
                { connection in
                    connection.readRequest()
                    connection.write("no HTTP\r\n\r\n")
                }, .malformedResponse
            ),
        ]
        var client = HTTPClient()
        for (script, code) in scripts {
            let broken = try ScriptedListener(script)
            #expect(fault(of: .post(to: broken.port), client: &client)?.code == code)
            #expect(try client.perform(.post(to: listener.port)).status == 200)
        }
    }
}

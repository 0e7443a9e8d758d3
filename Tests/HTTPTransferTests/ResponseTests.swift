import HTTPTransfer
import Testing

@Suite struct ResponseTests {
    @Test("A request arrives as it was written")
    func requestArrives() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK")
        }
        var request = HTTPRequest.post("one\ntwo\n", to: listener.port)
        request.headers.append(name: "X-Empty", value: "")
        request.userAgent = "issued/test"

        var client = HTTPClient()
        let response = try client.perform(request)

        #expect(response == HTTPResponse(status: 200, headers: ["Content-Length": "0"]))
        let received = try #require(listener.requests.first)
        let lines = received.head.split(separator: "\r\n").map(String.init)
        #expect(lines.first == "POST /?token=\(markedToken)&type=t HTTP/1.1")
        #expect(lines.contains("User-Agent: issued/test"))
        #expect(lines.contains("Content-Type: text/plain"))
        #expect(lines.contains("X-Empty:"))
        #expect(!received.head.contains("Expect"))
        #expect(received.body == Array("one\ntwo\n".utf8))
    }

    @Test("An empty body is sent as an empty body")
    func emptyBody() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("204 No Content")
        }
        var client = HTTPClient()
        #expect(try client.perform(.post("", to: listener.port)).status == 204)
        #expect(listener.requests.first?.head.hasPrefix("POST /") == true)
        #expect(listener.requests.first?.head.contains("Content-Length: 0") == true)
    }

    @Test("Requests to the same peer share a connection")
    func keepAlive() throws {
        let listener = try ScriptedListener { connection in
            while connection.readRequest() != nil { connection.answer("200 OK") }
        }
        var client = HTTPClient()
        for _ in 0..<5 {
            let response = try client.perform(.post(to: listener.port))
            #expect(response.status == 200)
            #expect(!response.mayHaveArrivedTwice)
        }
        #expect(listener.requests.count == 5)
        #expect(listener.connections == 1)
    }

    @Test("An error response has its status, headers and body")
    func refusals() throws {
        let counters = #"{"malformedLines":2,"successfulLines":10}"#
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("400 Bad Request", body: counters)
            connection.readRequest()
            connection.answer("503 Service Unavailable", headers: ["Retry-After:  120 "])
        }
        var client = HTTPClient()
        let partial = try client.perform(.post(to: listener.port))
        #expect(partial.status == 400)
        #expect(String(decoding: partial.body, as: UTF8.self) == counters)
        #expect(!partial.isTruncated)

        let busy = try client.perform(.post(to: listener.port))
        #expect(busy.status == 503)
        #expect(busy.headers["retry-after"] == "120")
        #expect(busy.headers["RETRY-AFTER"] == "120")
        #expect(busy.headers["Retry"] == nil)
    }

    @Test("A redirect is a response and is not followed")
    func redirect() throws {
        let elsewhere = try ScriptedListener { $0.readRequest() }
        let target = "http://127.0.0.1:\(elsewhere.port)/"
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("307 Temporary Redirect", headers: ["Location: \(target)"])
        }
        var client = HTTPClient()
        let response = try client.perform(.post(to: listener.port))
        #expect(response.status == 307)
        #expect(response.headers["Location"] == target)
        #expect(elsewhere.connections == 0)
    }

    @Test("An interim response is skipped")
    func interim() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            connection.answer("200 OK")
        }
        var client = HTTPClient()
        let response = try client.perform(.post(to: listener.port))
        #expect(response.status == 200)
        #expect(response.headers["Link"] == nil)
    }

    @Test("An endless response is cut off at the limit, and returned with its status", arguments: [0, 1000, 65_536])
    func endlessAnswer(limit: Int) throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while connection.write(String(repeating: "x", count: 8192)) {}
        }
        var request = HTTPRequest.post(to: listener.port)
        request.responseLimit = limit
        var client = HTTPClient()
        let response = try client.perform(request)
        #expect(response.status == 200)
        #expect(response.isTruncated)
        #expect(response.body.count == limit)
    }

    @Test("A response of exactly the limit is complete")
    func answerAtLimit() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK", body: "12345")
        }
        var request = HTTPRequest.post(to: listener.port)
        request.responseLimit = 5
        var client = HTTPClient()
        let response = try client.perform(request)
        #expect(response.body.count == 5)
        #expect(!response.isTruncated)
    }

    @Test("An error response that arrives during the sending of the body is returned", arguments: [false, true])
    func earlyRefusal(withReset: Bool) throws {
        let listener = try ScriptedListener { connection in
            connection.readHead()
            connection.answer("413 Payload Too Large", headers: ["Connection: close"], body: "too large")
            if withReset {
                // Closing with unread data makes the kernel send a reset.
                return
            }
            connection.finishWriting()
            connection.readToEnd()
        }
        var client = HTTPClient()
        let response = try client.perform(.largePost(to: listener.port))
        #expect(response.status == 413)
        #expect(!response.mayHaveArrivedTwice)
    }

    @Test("After a reset within the body, the request is repeated with Expect: 100-continue")
    func asksAfterReset() throws {
        let listener = try ScriptedListener { connection in
            guard let head = connection.readHead() else { return }
            if head.contains("Expect: 100-continue") {
                connection.answer("413 Payload Too Large", headers: ["Connection: close"])
            } else {
                connection.resetAtEnd()
            }
        }
        var client = HTTPClient()
        #expect(try client.perform(.largePost(to: listener.port)).status == 413)
        #expect(listener.connections == 2)
    }

    @Test("A truncated error response is still an error response")
    func truncatedRefusal() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 100\r\n\r\n0123456789")
        }
        var client = HTTPClient()
        let response = try client.perform(.post(to: listener.port))
        #expect(response.status == 413)
        #expect(response.isTruncated)
        #expect(response.body.count == 10)
    }

    @Test("If a reused connection breaks without a response, the request is repeated and marked as possibly duplicate")
    func repeatedRequest() throws {
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            connection.answer("200 OK")
            // The first connection is reset after its second request.
            if connection.readRequest() != nil { connection.resetAtEnd() }
        }
        var client = HTTPClient()
        #expect(try !client.perform(.post("first", to: listener.port)).mayHaveArrivedTwice)
        let second = try client.perform(.post("second", to: listener.port))
        #expect(second.status == 200)
        #expect(second.mayHaveArrivedTwice)
        #expect(listener.requests.map(\.body) == ["first", "second", "second"].map { Array($0.utf8) })
    }
}

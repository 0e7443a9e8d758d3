import HTTPTransfer
import Testing

@Suite struct ConnectTests {
    @Test("A bare connection comes about where somebody listens, and nothing is sent on it")
    func connects() throws {
        let listener = try ScriptedListener { $0.readRequest() }
        var client = HTTPClient()
        let first = client.connects(to: .post(to: listener.port))
        #expect(first)
        let second = client.connects(to: .post(to: listener.port))
        #expect(second)
        #expect(listener.requests == [])
    }

    @Test("A bare connection is closed before the next request")
    func closes() throws {
        let listener = try ScriptedListener { connection in
            // Ends only with the client's end of the connection.
            guard connection.readRequest() != nil else { return }
            connection.answer("200 OK")
        }
        var client = HTTPClient()
        let isUp = client.connects(to: .post(to: listener.port))
        #expect(isUp)
        let response = try client.perform(.post(to: listener.port))
        #expect(response.status == 200)
        #expect(listener.connections == 2)
    }

    @Test("No connection comes about where nobody listens, or to what is no address")
    func refused() throws {
        let listener = try ScriptedListener { _ in }
        listener.stopListening()
        var client = HTTPClient()
        let isListening = client.connects(to: .post(to: listener.port))
        #expect(!isListening)
        let isAddress = client.connects(to: HTTPRequest(method: .post, url: "ftp://127.0.0.1/"))
        #expect(!isAddress)
    }

    @Test("A cancelled client makes no connection")
    func cancelled() throws {
        let listener = try ScriptedListener { $0.readRequest() }
        let cancellation = HTTPCancellation()
        cancellation.cancel()
        var client = HTTPClient()
        let isUp = client.connects(to: .post(to: listener.port), cancellation: cancellation)
        #expect(!isUp)
        #expect(listener.connections == 0)
    }
}

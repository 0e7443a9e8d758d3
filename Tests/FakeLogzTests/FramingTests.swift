import FakeLogz
import Foundation
import Testing

@Suite("Framing of requests and encoding of bodies")
struct FramingTests {
    /// The gzip stream of `{"event_id":"gz"}` and a line feed, in Base64.
    private static let line = "H4sIAAAAAAACA6tWSi1LzSuJz0xRslJKr1Kq5QIAzCOgQRIAAAA="
    /// The gzip stream of a single letter, repeated until its size is a hundredth of the limit of 10 MB, in Base64.
    private static let hundredth =
        "H4sIAAAAAAACA+3BMQEAAADCoNqLbwsvoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4Gk8csCHmpkB"
        + "AA=="

    private static func bytes(_ base64: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: base64)))
    }

    @Test("A connection carries several successive requests")
    func keepAlive() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            for id in ["a", "b", "c"] {
                try client.post("{\"event_id\":\"\(id)\"}")
                #expect(try client.answer().status == 200)
            }

            #expect(fake.requests.map(\.ordinal) == [1, 2, 3])
            #expect(fake.stats.connections == 1)
        }
    }

    @Test("The connection is closed if the client requests it")
    func close() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{}", headers: ["Connection: close"])

            #expect(try client.answer().headers["connection"] == "close")
            #expect(try client.remainder().end == .closed)
        }
    }

    @Test("A chunked body is assembled, however it arrives", arguments: [1, 7, 1000])
    func chunked(size: Int) throws {
        try listening { fake in
            let request =
                "POST /?token=good HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "9;note=x\r\n{\"event_i\r\n8\r\nd\":\"a\"}\n\r\n0\r\nTrailer: x\r\n\r\n"
            let client = try RawClient(port: fake.port)
            let bytes = Array(request.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try client.send(Array(bytes[start..<min(start + size, bytes.count)]))
            }

            #expect(try client.answer().status == 200)
            #expect(fake.acceptedIDs == ["a"])
            #expect(fake.requests.first?.wireBytes == 17)
        }
    }

    @Test("A client that sends Expect: 100-continue gets 100 Continue, and then the response")
    func expectContinue() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.send(
                "POST /?token=good HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.answer().status == 100)

            try client.send("{}")
            #expect(try client.answer().status == 200)
        }
    }

    @Test("A compressed body is decompressed, even if it consists of several streams")
    func gzip() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.post(
                try Self.bytes(Self.line) + Self.bytes(Self.line), headers: ["Content-Encoding: gzip"])

            #expect(try client.answer().status == 200)
            #expect(fake.acceptedIDs == ["gz", "gz"])
            #expect(fake.requests.first?.inflatedBytes == 36)
        }
    }

    @Test("A body that is damaged, truncated or in another encoding is a single malformed line")
    func badEncoding() throws {
        try listening { fake in
            let whole = try Self.bytes(Self.line)
            for (body, encoding) in [
                (Array(whole.dropLast(4)), "gzip"), (Array("{}".utf8), "gzip"), (whole, "br"),
            ] {
                let client = try RawClient(port: fake.port)
                try client.post(body, headers: ["Content-Encoding: \(encoding)"])
                let answer = try client.answer()
                #expect(answer.status == 400)
                #expect(answer.body.hasPrefix("{\"malformedLines\":1,\"successfulLines\":0,"))
            }
        }
    }

    @Test(
        "The limit of 10 MB applies to the compressed size, to the decompressed size, or to both",
        arguments: [(SizeLimitScope.both, 413, 413), (.inflated, 413, 200), (.wire, 400, 413)])
    func limitScope(scope: SizeLimitScope, statusIfInflatedIsLarge: Int, statusIfCompressedIsLarge: Int) throws {
        var options = FakeLogzOptions(tokens: ["good"])
        options.limitAppliesTo = scope
        try listening(options) { fake in
            let client = try RawClient(port: fake.port)
            func status(_ streams: [[UInt8]]) throws -> Int {
                try client.post(Array(streams.joined()), headers: ["Content-Encoding: gzip"])
                return try client.answer().status
            }
            // If only the compressed size is limited, the body is a single line that is far too long.
            let hundredth = try Self.bytes(Self.hundredth)
            #expect(try status([[UInt8]](repeating: hundredth, count: 101)) == statusIfInflatedIsLarge)
            let empty: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            let many = [[UInt8]](repeating: empty, count: 10_485_760 / empty.count)
            #expect(try status(many + [Self.bytes(Self.line)]) == statusIfCompressedIsLarge)
        }
    }

    @Test(
        "A request that is not valid HTTP gets 400, and the connection is closed",
        arguments: [
            "nonsense\r\n\r\n", "POST / HTTP/3\r\n\r\n", "POST / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        ])
    func noHTTP(request: String) throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.send(request)

            #expect(try client.answer().status == 400)
            #expect(try client.remainder().end != .nothing)
        }
    }

    @Test("A request that stops in the middle is recorded, and none of its lines are accepted")
    func brokenOff() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.send("POST /?token=good HTTP/1.1\r\nContent-Length: 100\r\n\r\n{\"event_id\":\"a\"}\n")
            try client.finish()

            #expect(try client.remainder().end == .closed)
            #expect(fake.requests.map(\.wireBytes) == [17])
            #expect(fake.accepted.isEmpty)
        }
    }
}

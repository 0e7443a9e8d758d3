import FakeLogz
import Testing

/// Behaviour that the service documents or that its senders imply.
@Suite("The documented behaviour of the service")
struct NormalBehaviourTests {
    @Test("Good lines get 200 with an empty body")
    func good() throws {
        try listening { fake in
            let answer = try fake.answer(to: "{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}")

            #expect(answer == RawAnswer(status: 200, headers: ["content-length": "0"], body: ""))
            #expect(fake.acceptedIDs == ["a", "b"])
            #expect(fake.accepted[1].text == "{\"event_id\":\"b\"}")
        }
    }

    @Test("A final line feed does not begin another line, and a carriage return at the end of a line is not part of it")
    func lineEnds() throws {
        try listening { fake in
            let answer = try fake.answer(to: "{\"event_id\":\"a\"}\r\n{\"event_id\":\"b\"}\r\n")

            #expect(answer.status == 200)
            #expect(fake.accepted.map(\.text) == ["{\"event_id\":\"a\"}", "{\"event_id\":\"b\"}"])
        }
    }

    @Test("A body with invalid lines gets 400 with four counters, and its good lines are accepted")
    func partial() throws {
        try listening { fake in
            let long = "{\"a\":\"" + String(repeating: "x", count: 500_000) + "\"}"
            let lines = ["{\"event_id\":\"a\"}", "nonsense", "", long, "[1]", "{\"event_id\":\"b\"}"]

            let answer = try fake.answer(to: lines.joined(separator: "\n"))

            #expect(answer.status == 400)
            #expect(answer.headers["content-type"] == "application/json")
            #expect(
                answer.body
                    == "{\"malformedLines\":2,\"successfulLines\":2,\"oversizedLines\":1,\"emptyLogLines\":1}")
            #expect(fake.acceptedIDs == ["a", "b"])
        }
    }

    @Test(
        "Anything but a single JSON object in UTF-8 is malformed",
        arguments: [
            "[1]", "1", "\"text\"", "null", "{", "{}{}", "{'a':1}", "{\"a\":1,}", "{\"a\":\u{7f}\u{1}}",
        ])
    func malformed(line: String) throws {
        try listening { fake in
            let answer = try fake.answer(to: line)

            #expect(answer.status == 400)
            #expect(answer.body.hasPrefix("{\"malformedLines\":1,\"successfulLines\":0,"))
        }
    }

    @Test("Bytes that are not UTF-8 are malformed")
    func notUTF8() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.post(Array("{\"a\":\"".utf8) + [0xFF] + Array("\"}".utf8))

            #expect(try client.answer().status == 400)
        }
    }

    @Test("A line of 500,000 bytes is accepted, and a longer one is not")
    func lineLimit() throws {
        try listening { fake throws in
            let frame = "{\"a\":\"\"}".utf8.count
            func line(_ count: Int) -> String { "{\"a\":\"" + String(repeating: "x", count: count - frame) + "\"}" }

            #expect(try fake.answer(to: line(500_000)).status == 200)
            #expect(try fake.answer(to: line(500_001)).body.contains("\"oversizedLines\":1"))
        }
    }

    @Test("A missing or unknown token gets 401 with the service's text")
    func tokens() throws {
        try listening { fake in
            for target in ["/", "/?token=", "/?type=x"] {
                let answer = try fake.answer(to: "{}", target: target)
                #expect(answer.status == 401)
                #expect(answer.body == "Logging token is missing")
            }
            let answer = try fake.answer(to: "{}", target: "/?token=bad")
            #expect(answer.status == 401)
            #expect(answer.body == "Logging token is not valid")
            #expect(fake.accepted.isEmpty)
        }
    }

    @Test("Tokens can be changed while the listener runs, and may be escaped in the query")
    func rotation() throws {
        try listening { fake throws in
            fake.addToken("new token")
            fake.revokeToken("good")

            #expect(try fake.answer(to: "{}").status == 401)
            #expect(try fake.answer(to: "{}", target: "/?type=t&token=new%20token").status == 200)
        }
    }

    @Test("A body of more than 10 MiB gets 413, and the connection stays open")
    func bodyLimit() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.post([UInt8](repeating: 0x78, count: 10_485_761))
            #expect(try client.answer().status == 413)

            try client.post("{}")
            #expect(try client.answer().status == 200)
            #expect(fake.requests.map(\.connection) == [1, 1])
        }
    }

    @Test("A path other than / gets 404, and a method other than POST gets 405 with the allowed method")
    func elsewhere() throws {
        try listening { fake in
            #expect(try fake.answer(to: "{}", target: "/bulk?token=good").status == 404)
            #expect(try fake.answer(to: "{}", target: "?token=good").status == 200)

            let client = try RawClient(port: fake.port)
            try client.send("GET /?token=good HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.status == 405)
            #expect(answer.headers["allow"] == "POST")
        }
    }

    @Test("The type of a line is its own, otherwise that of the query, otherwise the default")
    func types() throws {
        try listening { fake in
            _ = try fake.answer(to: "{\"type\":\"own\"}\n{}", target: "/?token=good&type=query")
            _ = try fake.answer(to: "{}")

            #expect(fake.accepted.map(\.type) == ["own", "query", "http-bulk"])
        }
    }
}

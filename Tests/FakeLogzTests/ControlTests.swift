import FakeLogz
import Foundation
import IssueProtocol
import Testing
import UnixIO

@Suite("The control port")
struct ControlTests {
    private static func request(_ fake: FakeLogz, _ line: String, _ body: String = "") throws -> RawAnswer {
        let client = try RawClient(port: fake.controlPort)
        try client.send("\(line) HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return try client.answer()
    }

    /// Parses the body of a response with Foundation.
    private static func json(_ answer: RawAnswer) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
    }

    @Test("Stats count requests, connections, lines, ids and duplicates")
    func stats() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            for body in ["{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}", "{\"event_id\":\"a\"}\n{\"x.y\":1}"] {
                try client.post(body)
                _ = try client.answer()
            }

            let stats = try #require(try Self.json(Self.request(fake, "GET /stats")) as? [String: Int])
            #expect(
                stats == [
                    "requests": 2, "connections": 1, "accepted": 4, "distinct_event_ids": 2, "duplicates": 1,
                    "tagged": 1,
                ])
        }
    }

    @Test("Accepted lines are returned unchanged with their origin")
    func accepted() throws {
        try listening { fake in
            _ = try fake.answer(to: "{\"event_id\":\"a\",\"big\":12345678901234567890.5,\"x.y\":{\"z\":[1]}}")

            let answer = try Self.request(fake, "GET /accepted")
            #expect(
                answer.body == """
                    [{"connection":1,"request":1,"event_id":"a","type":"http-bulk",\
                    "tags":["ARRAY_INDEX_OUT_OF_BOUNDS_EXCEPTION"],\
                    "fields":{"event_id":"a","big":12345678901234567890.5,"x.y":{"z":[1]}}}]

                    """)
            #expect(try (Self.json(answer) as? [Any])?.count == 1)
        }
    }

    @Test("GET /requests returns all requests, or those after a number, without the token")
    func requests() throws {
        try listening { fake in
            for id in ["a", "b"] { _ = try fake.answer(to: "{\"event_id\":\"\(id)\"}", target: "/?token=good&type=t") }

            let all = try Self.request(fake, "GET /requests")
            #expect(!all.body.contains("good"))
            let requests = try #require(try Self.json(all) as? [[String: Any]])
            #expect(requests.map { $0["request"] as? Int } == [1, 2])
            #expect(requests[0]["status"] as? Int == 200)
            #expect((requests[0]["counters"] as? [String: Int])?["successfulLines"] == 1)
            let target = try #require(requests[0]["target"] as? String)
            #expect(target.wholeMatch(of: /\/\?token=[0-9a-f]{8}&type=t/) != nil)

            let later = try Self.json(Self.request(fake, "GET /requests?since=1"))
            #expect((later as? [Any])?.count == 1)
        }
    }

    @Test("A plan, tokens and a reset take effect immediately")
    func commands() throws {
        try listening { fake throws in
            let plan = "[{\"times\":\"forever\",\"fault\":{\"status\":{\"code\":503}}}]"
            #expect(try Self.request(fake, "POST /plan", plan).status == 200)
            #expect(try fake.answer(to: "{}").status == 503)

            #expect(try Self.request(fake, "POST /plan", "[{}]").body == "A step needs a “fault”.\n")
            #expect(try Self.request(fake, "POST /tokens", "{\"add\":[\"new\"],\"revoke\":[\"good\"]}").status == 200)
            #expect(fake.tokens == ["new"])

            #expect(try Self.request(fake, "POST /reset").status == 200)
            #expect(fake.requests.isEmpty)
            #expect(try fake.answer(to: "{}", target: "/?token=new").status == 200)
        }
    }

    @Test("The control port stays open while the other port is closed or does not respond", arguments: [true, false])
    func unaffected(isClosed: Bool) throws {
        try listening { fake throws in
            let blackhole = "[{\"fault\":\"blackhole\"}]"
            let (line, body) = isClosed ? ("POST /down", "") : ("POST /plan", blackhole)
            #expect(try Self.request(fake, line, body).status == 200)
            #expect(throws: Errno.self) { _ = try RawClient(port: fake.port, timeout: .milliseconds(100)) }
            #expect(try Self.request(fake, "GET /stats").status == 200)
            #expect(try Self.request(fake, "POST /up").status == 200)
            #expect(try fake.answer(to: "{}").status == 200)
        }
    }

    @Test("POST /expect gets 200 if exactly the expected ids were accepted, even twice; else 409 and the differences")
    func expect() throws {
        try listening { fake in
            _ = try fake.answer(to: "{\"event_id\":\"a\"}\n{\"event_id\":\"a\"}\n{\"event_id\":\"c\"}")

            let answer = try Self.request(fake, "POST /expect", "[\"a\",\"b\"]")
            #expect(answer.status == 409)
            #expect(
                answer.body
                    == "{\"missing\":[\"b\"],\"unexpected\":[\"c\"],\"tagged\":[],\"duplicated\":{\"a\":2}}\n")
            #expect(try Self.request(fake, "POST /expect", "[\"a\",\"c\"]").status == 200)
        }
    }

    @Test("A wait ends when the counts are reached or at its timeout")
    func wait() throws {
        try listening { fake in
            #expect(try Self.request(fake, "GET /wait?accepted=1&timeout=0.1").status == 504)
            #expect(try Self.request(fake, "GET /wait?accepted=1&timeout=-1").status == 400)

            let waiting = try RawClient(port: fake.controlPort)
            try waiting.send("GET /wait?accepted=2&timeout=30 HTTP/1.1\r\n\r\n")
            _ = try fake.answer(to: "{}")
            #expect(try waiting.remainder(within: .milliseconds(100)).end == .nothing)
            _ = try fake.answer(to: "{}")

            let answer = try waiting.answer()
            #expect(answer.status == 200)
            #expect(answer.body.contains("\"accepted\":2"))
        }
    }

    @Test("An unknown request gets 404")
    func unknown() throws {
        try listening { fake throws in
            #expect(try Self.request(fake, "GET /nothing").status == 404)
            #expect(try Self.request(fake, "GET /plan").status == 404)
        }
    }
}

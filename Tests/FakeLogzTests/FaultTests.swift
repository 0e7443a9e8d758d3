import FakeLogz
import Testing
import UnixIO

/// Long enough to see that there is no response.
private let aMoment = Duration.milliseconds(150)

@Suite("Faults as seen by a client on a plain socket")
struct FaultTests {
    @Test("accept_silent: nothing is read or sent, and the next connection is served")
    func acceptSilent() throws {
        try listening(FaultStep(.acceptSilent)) { fake in
            do {
                let client = try RawClient(port: fake.port)
                try client.post("{\"event_id\":\"a\"}")
                #expect(try client.remainder(within: aMoment).end == .nothing)
                #expect(try #require(fake.requests.first).method == nil)
            }

            #expect(try fake.answer(to: "{\"event_id\":\"b\"}").status == 200)
            #expect(fake.acceptedIDs == ["b"])
        }
    }

    @Test("read_silent: the lines are accepted, and there is no response")
    func readSilent() throws {
        try listening(FaultStep(.readSilent)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}")

            #expect(fake.waitForAccepted(1))
            #expect(try client.remainder(within: aMoment).end == .nothing)
            #expect(fake.requests.first?.isAnswered == nil)
        }
    }

    @Test("slow_answer: the lines are accepted immediately, and the response is late")
    func slowAnswer() throws {
        try listening(FaultStep(.slowAnswer(.milliseconds(200))), FaultStep(.slowAnswer(.seconds(600)))) { fake in
            let started = MonotonicClock.now
            let client = try RawClient(port: fake.port)
            try client.post("{}")
            #expect(try client.answer().status == 200)
            #expect(started.duration(to: MonotonicClock.now) >= .milliseconds(200))

            try client.post("{}")
            #expect(fake.waitForAccepted(2))
        }
    }

    @Test("slow_read: the body is read at a limited rate")
    func slowRead() throws {
        try listening(FaultStep(.slowRead(bytesPerSecond: 50_000))) { fake throws in
            let started = MonotonicClock.now
            let line = "{\"a\":\"" + String(repeating: "x", count: 10_000) + "\"}"

            #expect(try fake.answer(to: line).status == 200)
            #expect(started.duration(to: MonotonicClock.now) >= .milliseconds(190))
        }
    }

    @Test("drip: the response is sent byte by byte")
    func drip() throws {
        try listening(FaultStep(.drip(.milliseconds(5)))) { fake in
            let started = MonotonicClock.now
            let client = try RawClient(port: fake.port)
            try client.post("{}")

            var pieces: [[UInt8]] = []
            while pieces.joined().count < 38 { pieces.append(try client.some()) }
            #expect(pieces.count > 1)
            #expect(String(decoding: pieces.joined(), as: UTF8.self) == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(started.duration(to: MonotonicClock.now) >= .milliseconds(37 * 5))
        }
    }

    @Test("status: the given response is sent after the request was read, and no line is accepted")
    func status() throws {
        let fault = Fault.status(503, headers: [HTTPField("Retry-After", "7")], body: "later")
        try listening(FaultStep(fault)) { fake in
            let answer = try fake.answer(to: "{\"event_id\":\"a\"}")

            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] == "7")
            #expect(answer.body == "later")
            #expect(fake.requests.first?.wireBytes == 16)
            #expect(fake.accepted.isEmpty)
        }
    }

    @Test("413_late: a 413 after reading the request, and the connection stays open")
    func tooLargeLate() throws {
        try listening(FaultStep(.tooLargeLate)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{}")
            #expect(try client.answer().status == 413)
            try client.post("{}")
            #expect(try client.answer().status == 200)
            #expect(fake.requests.map(\.wireBytes) == [2, 2])
        }
    }

    @Test("413_early: a 413 before reading the body, after which the connection is closed in order or reset")
    func tooLargeEarly() throws {
        for reset in [false, true] {
            try listening(FaultStep(.tooLargeEarly(reset: reset))) { fake in
                let client = try RawClient(port: fake.port)
                try client.send("POST /?token=good HTTP/1.1\r\nContent-Length: 20000000\r\n\r\n")
                let (bytes, end) = try client.remainder()

                if !reset { #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 413 ")) }
                #expect(end == (reset ? .reset : .closed))
                #expect(fake.requests.first?.wireBytes == 0)
                // Without a reset, the listener also reads the data that follows, which no socket buffer can hold.
                if !reset { try client.send([UInt8](repeating: 0x78, count: 20_000_000)) }
            }
        }
    }

    @Test("413_above: the limit is lower, and smaller requests are accepted")
    func tooLargeAbove() throws {
        try listening(FaultStep(.tooLargeAbove(bytes: 20), times: .forever)) { fake throws in
            #expect(try fake.answer(to: "{\"event_id\":\"a\"}\n{\"event_id\":\"b\"}").status == 413)
            #expect(try fake.answer(to: "{\"event_id\":\"a\"}").status == 200)
            #expect(fake.acceptedIDs == ["a"])
        }
    }

    @Test("400_poison: lines with the text are malformed, and the others are accepted")
    func poison() throws {
        try listening(FaultStep(.poison("bad"))) { fake in
            let answer = try fake.answer(to: "{\"event_id\":\"a\"}\n{\"event_id\":\"bad\"}\n{\"event_id\":\"c\"}")

            #expect(answer.status == 400)
            #expect(answer.body.hasPrefix("{\"malformedLines\":1,\"successfulLines\":2,"))
            #expect(fake.acceptedIDs == ["a", "c"])
        }
    }

    @Test("400_all, 400_no_body and 400_bad_json: a 400 with counters, without a body, or with malformed JSON")
    func badRequests() throws {
        try listening(
            FaultStep(.allMalformed), FaultStep(.badRequestWithoutBody), FaultStep(.badRequestWithBadJSON)
        ) { fake in
            let answers = try (0..<3).map { _ in try fake.answer(to: "{}\n{}") }

            #expect(answers.map(\.status) == [400, 400, 400])
            #expect(
                answers[0].body
                    == "{\"malformedLines\":2,\"successfulLines\":0,\"oversizedLines\":0,\"emptyLogLines\":0}")
            #expect(answers[1].body == "")
            #expect(answers[2].body == "{\"malformedLines\":")
            #expect(fake.accepted.isEmpty)
        }
    }

    @Test("reset_mid_body: a reset after a number of bytes")
    func resetMidBody() throws {
        try listening(FaultStep(.resetMidBody(after: 10))) { fake in
            let client = try RawClient(port: fake.port)
            try client.send("POST /?token=good HTTP/1.1\r\nContent-Length: 1000\r\n\r\n0123456789abc")

            #expect(try client.remainder().end == .reset)
            #expect(fake.requests.first?.wireBytes == 10)
            #expect(fake.accepted.isEmpty)
        }
    }

    @Test("reset_before_answer: the lines are accepted, and the connection is reset")
    func resetBeforeAnswer() throws {
        try listening(FaultStep(.resetBeforeAnswer)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}")

            let (bytes, end) = try client.remainder()
            #expect(bytes.isEmpty && end == .reset)
            #expect(fake.acceptedIDs == ["a"])
        }
    }

    @Test("reset_on: the connection is reset if the request contains the text, and none of its lines are accepted")
    func resetOn() throws {
        try listening(FaultStep(.resetOn("bad"), times: .forever)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}\n{\"event_id\":\"bad\"}")

            let (bytes, end) = try client.remainder()
            #expect(bytes.isEmpty && end == .reset)
            #expect(try fake.answer(to: "{\"event_id\":\"c\"}").status == 200)
            #expect(fake.acceptedIDs == ["c"])
            #expect(fake.requests.map(\.status) == [nil, 200])
        }
    }

    @Test("truncated_answer: 100 bytes are declared and 10 are sent")
    func truncated() throws {
        try listening(FaultStep(.truncatedAnswer)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}")
            let (bytes, end) = try client.remainder()

            #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("Content-Length: 100\r\n\r\n0123456789"))
            #expect(end == .closed)
            #expect(fake.acceptedIDs == ["a"])
        }
    }

    @Test("garbage: the response is not HTTP, and no line is accepted")
    func garbage() throws {
        try listening(FaultStep(.garbage)) { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}")
            let (bytes, end) = try client.remainder()

            #expect(!bytes.isEmpty && !bytes.starts(with: Array("HTTP".utf8)))
            #expect(end == .closed)
            #expect(fake.accepted.isEmpty)
        }
    }

    @Test("huge_answer: a response of the given size, or an endless one")
    func huge() throws {
        try listening(FaultStep(.hugeAnswer(bytes: 100_000)), FaultStep(.hugeAnswer(bytes: nil))) { fake in
            #expect(try fake.answer(to: "{}").body.utf8.count == 100_000)

            let client = try RawClient(port: fake.port)
            try client.post("{\"event_id\":\"a\"}")
            var count = 0
            while count < 1_000_000 { count += try client.some().count }
            #expect(fake.acceptedIDs == ["a"])
        }
    }

    @Test("keepalive_close: the connection ends after the response, or when the next request begins")
    func keepAliveClose() throws {
        for crossing in [false, true] {
            try listening(FaultStep(.keepAliveClose(crossing: crossing))) { fake in
                let client = try RawClient(port: fake.port)
                try client.post("{\"event_id\":\"a\"}")
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer.headers["connection"] == nil)

                if crossing {
                    #expect(try client.remainder(within: aMoment).end == .nothing)
                    try client.post("{\"event_id\":\"b\"}")
                    #expect(try client.remainder().end == .reset)
                } else {
                    #expect(try client.remainder().end == .closed)
                }
                #expect(fake.acceptedIDs == ["a"])
            }
        }
    }
}

import FakeLogz
import Testing

@Suite("Fault plans")
struct PlanTests {
    private static let everyFault: [(json: String, fault: Fault)] = [
        ("\"down\"", .down(for: nil)),
        ("{\"down\":{\"ms\":5}}", .down(for: .milliseconds(5))),
        ("{\"blackhole\":{\"ms\":5}}", .blackhole(for: .milliseconds(5))),
        ("{\"flap\":{\"up\":5,\"down\":6}}", .flap(up: .milliseconds(5), down: .milliseconds(6))),
        ("{\"auth_flip\":{\"after\":5}}", .authFlip(after: 5)),
        ("\"accept_silent\"", .acceptSilent),
        ("\"read_silent\"", .readSilent),
        ("{\"slow_answer\":{\"ms\":5}}", .slowAnswer(.milliseconds(5))),
        ("{\"slow_read\":{\"bytesPerSec\":5}}", .slowRead(bytesPerSecond: 5)),
        ("{\"drip\":{\"ms\":5}}", .drip(.milliseconds(5))),
        ("{\"status\":{\"code\":502}}", .status(502)),
        (
            "{\"status\":{\"code\":429,\"headers\":{\"Retry-After\":\"2\"},\"body\":\"no\"}}",
            .status(429, headers: [HTTPField("Retry-After", "2")], body: "no")
        ),
        ("\"413_late\"", .tooLargeLate),
        ("\"413_early\"", .tooLargeEarly(reset: false)),
        ("{\"413_early\":{\"reset\":true}}", .tooLargeEarly(reset: true)),
        ("{\"413_above\":{\"bytes\":5}}", .tooLargeAbove(bytes: 5)),
        ("{\"400_poison\":{\"substring\":\"x\"}}", .poison("x")),
        ("\"400_all\"", .allMalformed),
        ("\"400_no_body\"", .badRequestWithoutBody),
        ("\"400_bad_json\"", .badRequestWithBadJSON),
        ("{\"reset_mid_body\":{\"after\":5}}", .resetMidBody(after: 5)),
        ("\"reset_before_answer\"", .resetBeforeAnswer),
        ("{\"reset_on\":{\"substring\":\"x\"}}", .resetOn("x")),
        ("\"truncated_answer\"", .truncatedAnswer),
        ("\"garbage\"", .garbage),
        ("\"huge_answer\"", .hugeAnswer(bytes: nil)),
        ("{\"huge_answer\":{\"bytes\":5}}", .hugeAnswer(bytes: 5)),
        ("\"keepalive_close\"", .keepAliveClose(crossing: true)),
        ("{\"keepalive_close\":{\"crossing\":false}}", .keepAliveClose(crossing: false)),
    ]

    @Test("A fault is written in JSON as its name, with its parameters if it has any", arguments: everyFault)
    func faults(json: String, fault: Fault) throws {
        #expect(try FaultStep.steps(json: Array("[{\"fault\":\(json)}]".utf8)) == [FaultStep(fault)])
        #expect(json.contains(fault.name))
    }

    @Test("A step specifies the requests it applies to, and how often")
    func steps() throws {
        let json = """
            [{"match": {"nth": 2, "token": "t", "minBytes": 9, "path": "/"}, "times": 3, "fault": "garbage"},
             {"times": "forever", "fault": "garbage"}]
            """
        let match = FaultMatch(nth: 2, token: "t", minBytes: 9, path: "/")

        #expect(
            try FaultStep.steps(json: Array(json.utf8)) == [
                FaultStep(.garbage, times: 3, match: match), FaultStep(.garbage, times: .forever),
            ])
    }

    @Test(
        "An invalid plan is rejected, and the error says why",
        arguments: [
            ("", "must be JSON"), ("{}", "an array"), ("[1]", "an object"), ("[{}]", "needs a “fault”"),
            ("[{\"fault\":\"unheard\"}]", "“unheard”"), ("[{\"fault\":\"slow_answer\"}]", "requires “ms”"),
            ("[{\"fault\":{\"slow_answer\":{\"ms\":\"5\"}}}]", "“ms” of “slow_answer” must be a number"),
            ("[{\"fault\":\"garbage\",\"often\":1}]", "“often”"),
            ("[{\"fault\":\"garbage\",\"times\":\"twice\"}]", "“times”"),
            ("[{\"fault\":\"garbage\",\"match\":{\"who\":1}}]", "“who”"),
            ("[{\"fault\":\"garbage\",\"match\":{\"nth\":\"1\"}}]", "the numbers “nth” and “minBytes”"),
            ("[{\"fault\":\"accept_silent\",\"match\":{\"token\":\"t\"}}]", "only be matched by “nth”"),
            ("[{\"fault\":\"down\",\"match\":{\"minBytes\":1}}]", "only be matched by “nth”"),
        ])
    func noPlan(json: String, reason: String) throws {
        let error = try #require(throws: FaultPlanError.self) { try FaultStep.steps(json: Array(json.utf8)) }
        #expect("\(error)".contains(reason))
    }

    @Test("The first step that matches and is not used up applies; without such a step, the request succeeds")
    func order() throws {
        try listening { fake in
            try fake.plan(
                FaultStep(.status(500), times: 2),
                FaultStep(.status(502), match: FaultMatch(nth: 4)),
                FaultStep(.status(503), match: FaultMatch(minBytes: 20)),
                FaultStep(.status(504), times: .forever, match: FaultMatch(token: "other")))

            let long = "{\"event_id\":\"long enough\"}"
            let statuses = try [
                fake.answer(to: "{}"), fake.answer(to: "{}"), fake.answer(to: "{}"), fake.answer(to: long),
                fake.answer(to: long), fake.answer(to: long), fake.answer(to: "{}", target: "/?token=other"),
            ].map(\.status)

            #expect(statuses == [500, 500, 200, 502, 503, 200, 504])
        }
    }

    @Test("A new plan counts its requests from the beginning")
    func newPlan() throws {
        try listening { fake in
            _ = try fake.answer(to: "{}")
            try fake.plan(FaultStep(.status(500), match: FaultMatch(nth: 1)))

            #expect(try fake.answer(to: "{}").status == 500)
        }
    }
}

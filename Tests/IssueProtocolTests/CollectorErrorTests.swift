import IssueProtocol
import Testing

@Suite("Errors")
struct CollectorErrorTests {
    static let collectorErrors: [CollectorError] = [
        .invalidRecord(index: 3, field: "message", reason: "is required"),
        .invalidFilter(field: "codes.2", reason: "must be an integer"),
        .tooLarge(limit: 1_048_576),
        .busy(retryAfter: .milliseconds(250)),
        .noSpace,
        .notFound(id: "r-1"),
        .unreadable(id: "r-2"),
        .denied,
    ]

    static let tooSlow = CollectorError.tooSlow(retryAfter: .seconds(1))

    static let serviceErrors: [CollectorError] = [
        .interfaceNotFound("org.example"),
        .methodNotFound("org.issued.Collector.Nothing"),
        .invalidParameter("limit"),
        .expectedMore,
    ]

    @Test("An error survives being sent in a reply", arguments: collectorErrors + serviceErrors + [tooSlow])
    func roundTrip(error: CollectorError) throws {
        let message = Array(error.reply.message.dropLast())

        let reply = try VarlinkReply(decoding: message)

        #expect(CollectorError(reply) == error)
        #expect(error.description.hasSuffix("."))
    }

    @Test("The error for a slow query is Busy with a reason; Busy with an unknown reason is read as Busy without one")
    func reasons() {
        #expect(Self.tooSlow.name == CollectorError.busy(retryAfter: .zero).name)
        let reply = VarlinkReply(
            parameters: Array(#"{"retry_after":7,"reason":"a new one"}"#.utf8), error: "org.issued.Collector.Busy")
        #expect(CollectorError(reply) == .busy(retryAfter: .milliseconds(7)))
    }

    @Test("An unknown error keeps its name and parameters")
    func unknown() {
        let reply = VarlinkReply(parameters: Array(#"{"a":1}"#.utf8), error: "org.issued.Collector.New")

        let error = CollectorError(reply)

        #expect(error == .unknown(name: "org.issued.Collector.New", parameters: ["a": 1]))
        #expect(error?.reply == reply)
    }

    @Test("A known error with invalid parameters is treated as unknown")
    func unreadable() {
        for (name, parameters) in [("TooLarge", "{}"), ("TooLarge", #"{"limit":"x"}"#), ("NotFound", #"{"id":1}"#)] {
            let error = CollectorError(
                VarlinkReply(parameters: Array(parameters.utf8), error: "org.issued.Collector.\(name)"))
            guard case .unknown(let kept, _) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(kept == "org.issued.Collector.\(name)")
        }
    }

    @Test("A reply without an error is not read as an error")
    func none() {
        #expect(CollectorError(VarlinkReply()) == nil)
    }

    @Test(
        "An invalid parameter is refused with its name, an invalid filter with the field and the reason",
        arguments: [
            (#"{"limit":"ten"}"#, CollectorError.invalidParameter("limit")),
            (#"{"limit":0}"#, .invalidParameter("limit")),
            (#"{"sparkline":-1}"#, .invalidParameter("sparkline")),
            (#"{"limit":1.5}"#, .invalidParameter("limit")),
            (#"{"order":"best"}"#, .invalidParameter("order")),
            (#"[]"#, .invalidParameter("parameters")),
            (#"{"filter":[]}"#, .invalidParameter("filter")),
            (#"{"filter":{"text":1}}"#, .invalidFilter(field: "text", reason: "must be a string")),
            (#"{"filter":{"codes":[1,2,"3"]}}"#, .invalidFilter(field: "codes.2", reason: "must be an integer")),
            (
                #"{"filter":{"users":[-1]}}"#,
                .invalidFilter(field: "users.0", reason: "must be between 0 and 4294967295")
            ),
            (
                #"{"filter":{"severity":"bad"}}"#,
                .invalidFilter(
                    field: "severity", reason: "must be one of debug, info, warning, error, critical")
            ),
            (
                #"{"filter":{"since":"yesterday"}}"#,
                .invalidFilter(
                    field: "since", reason: "must be an RFC 3339 time, such as 2026-11-21T10:00:00.123Z")
            ),
        ])
    func refusal(parameters: String, expected: CollectorError) {
        do {
            let read = try ListParameters(json: parameters)
            Issue.record("\(read) was accepted")
        } catch {
            #expect(CollectorError(refusing: error) == expected)
        }
    }
}

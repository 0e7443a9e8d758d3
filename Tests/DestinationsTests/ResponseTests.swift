import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol
import Testing

@Suite struct ResponseTests {
    private func meaning(
        _ status: Int, headers: HTTPHeaders = [:], body: String = "", lines: Int = 2
    ) -> DeliveryResult {
        LogzFormat.result(
            of: HTTPResponse(status: status, headers: headers, body: Array(body.utf8)), lines: lines,
            from: "listener.logz.io:8071", at: moment)
    }

    private func meaning(_ code: HTTPTransferError.Code, sent: Bool) -> DeliveryResult {
        DeliveryResult(HTTPTransferError(code: code, message: "No way to a:1", bodyFullySent: sent))
    }

    @Test("Any 2xx status means delivered", arguments: [200, 201, 202, 204, 299])
    func accepted(status: Int) {
        let answer = meaning(status, body: #"{"malformedLines":1,"successfulLines":1}"#)
        #expect(answer.verdict == .accepted)
        #expect(answer.summary.text == "\(status): 2 lines accepted")
    }

    @Test(
        "A failure that requires an operator pauses the destination",
        arguments: [
            (300, PauseReason.redirected), (301, .redirected), (302, .redirected), (304, .redirected),
            (307, .redirected), (308, .redirected), (401, .unauthorised), (402, .forbidden), (403, .forbidden),
            (404, .notFound), (405, .methodNotAllowed), (406, .methodNotAllowed), (407, .proxyRefuses),
            (410, .notFound), (411, .methodNotAllowed), (415, .methodNotAllowed), (422, .methodNotAllowed),
            (451, .forbidden),
        ])
    func paused(status: Int, reason: PauseReason) {
        #expect(meaning(status, headers: ["Location": "http://elsewhere/"]).verdict == .paused(reason))
    }

    @Test(
        "A temporary failure is retried",
        arguments: [
            (408, FailureClass.requestTimeout), (425, .tooEarly), (429, .tooManyRequests), (500, .serverError),
            (501, .serverError), (502, .serverError), (503, .overloaded), (504, .serverError), (599, .serverError),
            (600, .serverError), (999, .serverError),
        ])
    func again(status: Int, failure: FailureClass) {
        #expect(meaning(status).verdict == .again(failure, retryAfter: nil))
        #expect(
            meaning(status, headers: ["retry-after": "30"]).verdict == .again(failure, retryAfter: .seconds(30)))
        #expect(meaning(status, headers: ["Retry-After": "soon"]).verdict == .again(failure, retryAfter: nil))
    }

    @Test("413 means too large")
    func tooLarge() {
        #expect(meaning(413).verdict == .tooLarge)
        #expect(meaning(413).summary.text == "413 from listener.logz.io:8071: request of 2 lines too large")
    }

    @Test("A 400 with counters states how many lines were accepted")
    func counters() {
        let body = #"{"malformedLines":2,"successfulLines":8,"oversizedLines":0,"emptyLogLines":0}"#
        let answer = meaning(400, body: body, lines: 10)
        #expect(answer.verdict == .partial(PartialAnswer(successful: 8, invalidLines: [])))
        #expect(answer.summary.text == "400: 2 of 10 lines rejected (malformed 2)")
    }

    @Test("A 400 that rejects lines for several reasons names each of them")
    func reasons() {
        let body = #"{"malformedLines":5,"successfulLines":3,"oversizedLines":1,"emptyLogLines":1}"#
        #expect(
            meaning(400, body: body, lines: 10).summary.text
                == "400: 7 of 10 lines rejected (malformed 5, oversized 1, empty 1)")
    }

    @Test(
        "A 400 without valid counters says nothing about single lines",
        arguments: [
            "", "Bad Request", "[]", "{}", "null", "{", #"{"error":"x"}"#, #"{"successfulLines":"8"}"#,
            #"{"malformedLines":1}"#, #"{"successfulLines":99999999999999999999}"#, "<html>",
        ])
    func noCounters(body: String) {
        guard case .partial(let partial) = meaning(400, body: body).verdict else {
            Issue.record("The verdict is not partial")
            return
        }
        #expect(partial == PartialAnswer(successful: nil))
    }

    @Test(
        "Invalid counters are ignored", arguments: ["-1", "3", "9223372036854775807", "-9223372036854775808"])
    func strangeCounters(count: String) {
        let answer = meaning(400, body: #"{"successfulLines":\#(count),"malformedLines":\#(count)}"#)
        #expect(answer.summary.text == "400: some of 2 lines rejected")
    }

    @Test(
        "Without a response, the verdict is ambiguous if the request was sent completely; otherwise the error decides",
        arguments: HTTPTransferError.Code.allCases)
    func faults(code: HTTPTransferError.Code) {
        #expect(meaning(code, sent: true).verdict == .ambiguous(.noAnswer))
        let expected: DeliveryVerdict =
            switch code {
            case .invalidRequest: .paused(.notFound)
            case .proxyAuthentication: .paused(.proxyRefuses)
            case .resolve, .proxy: .again(.unreachable, retryAfter: nil)
            case .refused: .again(.refused, retryAfter: nil)
            case .connectTimeout: .again(.timeout, retryAfter: nil)
            case .tls: .again(.tls, retryAfter: nil)
            case .timeout, .connectionLost, .cancelled, .other: .again(.reset, retryAfter: nil)
            case .malformedResponse: .again(.serverError, retryAfter: nil)
            }
        #expect(meaning(code, sent: false).verdict == expected)
        #expect(meaning(code, sent: false).summary.text == "No way to a:1")
    }

    @Test("The answer to a repeated request is marked", arguments: [200, 400, 401, 503])
    func twice(status: Int) {
        let response = HTTPResponse(status: status, mayHaveArrivedTwice: true)
        #expect(LogzFormat.result(of: response, lines: 1, from: "a:1", at: moment).mayHaveArrivedTwice)
        #expect(!meaning(status).mayHaveArrivedTwice)
    }

    @Test(
        "The summary names the server and the status, and has no text of the response",
        arguments: [
            (401, "Logging token is not valid\n", "401 from listener.logz.io:8071"),
            (500, "", "500 from listener.logz.io:8071"),
            (502, "<html><h1>Bad Gateway</h1></html>", "502 from listener.logz.io:8071"),
            (503, "a\r\n\tb\u{0}\u{1B}[31mc", "503 from listener.logz.io:8071"),
            (407, "no", "407 from the proxy for listener.logz.io:8071"),
            (301, "", "301 from listener.logz.io:8071: redirects are not followed"),
        ])
    func summary(status: Int, body: String, text: String) {
        #expect(meaning(status, body: body).summary.text == text)
    }
}

import Destinations
import FakeLogz
import IssueCore
import IssueProtocol
import Testing
import UnixIO

@Suite struct ShipperTests {
    private static let token = "MARKED+TOKEN/1"

    private func shipper(
        to logz: FakeLogz, timeout: Duration = .seconds(10), token: String? = token,
        level: Int = 6, type: String = "issued", metadataKey: String? = nil
    ) throws -> HTTPShipper<LogzFormat> {
        var settings = try settings(for: logz)
        settings.requestTimeout = timeout
        settings.version = "1.2.3"
        settings.compressionLevel = level
        return HTTPShipper(
            LogzFormat(settings, type: type, metadataKey: metadataKey),
            credential: Credential { token.flatMap { ShippingToken(Array($0.utf8)) } }
        ) { moment }
    }

    private func settings(for logz: FakeLogz) throws -> HTTPSettings {
        var settings = HTTPSettings(address: try #require(HTTPAddress(url: "http://127.0.0.1:\(logz.port)/")))
        settings.proxy = ""
        return settings
    }

    private func logz(_ steps: FaultStep...) throws -> FakeLogz {
        try FakeLogz(FakeLogzOptions(tokens: [Self.token], plan: steps))
    }

    private func lines(_ count: Int) -> [[UInt8]] {
        (0..<count).map { index in
            var record = Samples.full
            record.own.id = "id-\(index)"
            var types = FieldTypes()
            return Golden.payload.line(of: record, types: &types)
        }
    }

    @Test("Lines arrive unchanged and are delivered")
    func delivered() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz)
        let lines = lines(10)

        let answer = shipper.send(lines)

        #expect(answer == DeliveryResult(.accepted, ResponseSummary("200: 10 lines accepted")))
        #expect(logz.accepted.map { Array($0.text.utf8) } == lines)
        let request = try #require(logz.requests.first)
        #expect(request.method == "POST")
        #expect(request.header("Content-Type") == "text/plain")
        #expect(request.header("User-Agent") == "issued/1.2.3")
        #expect(request.header("Content-Encoding") == "gzip")
        #expect(request.inflatedBytes == lines.reduce(0) { $0 + $1.count + 1 })
        #expect(request.target?.hasPrefix("/?token=") == true)
        #expect(request.target?.hasSuffix("&type=issued") == true)
    }

    @Test(
        "A body is sent again unchanged, whether it was compressed in parts or at once", arguments: [1, 40, 2000])
    func sameBody(count: Int) throws {
        let logz = try logz(FaultStep(.status(503)))
        var shipper = try shipper(to: logz)
        let lines = lines(count)
        let body = shipper.prepare()
        for line in lines { body.add(line) }

        let refused = shipper.send(body, within: nil)
        #expect(refused.verdict == .again(.overloaded, retryAfter: nil))
        let accepted = shipper.send(body, within: nil)
        #expect(accepted.verdict == .accepted)

        #expect(logz.accepted.map { Array($0.text.utf8) } == lines)
    }

    @Test("The listener finds no problem in a line, except the dot in a field name of jww-error-reporting")
    func noSilentFault() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz)
        for golden in Golden.all {
            let answer = shipper.send([golden.line])
            #expect(answer.verdict == .accepted)
        }
        // A field may have different types in different golden lines, so changes of the type are allowed.
        #expect(logz.accepted.allSatisfy { $0.tags.isSubset(of: [.dottedName, .typeChanged]) })
        #expect(logz.accepted.count == Golden.all.count)

        try logz.reset()
        var types = FieldTypes()
        var plain = try self.shipper(to: logz, metadataKey: "context")
        for record in [Samples.full, Samples.huge, Samples.typeConflicts, Samples.minimal] {
            let answer = plain.send([plain.line(of: record, types: &types)])
            #expect(answer.verdict == .accepted)
        }
        #expect(logz.stats.taggedLines == 0)
    }

    @Test("A short body is sent uncompressed, and nothing is compressed at level 0")
    func uncompressed() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz)
        let short = shipper.send([Array(#"{"a":1}"#.utf8)])
        #expect(short.verdict == .accepted)
        var plain = try self.shipper(to: logz, level: 0)
        let uncompressed = plain.send(lines(10))
        #expect(uncompressed.verdict == .accepted)
        #expect(logz.requests.allSatisfy { $0.header("Content-Encoding") == nil })
        #expect(logz.accepted.count == 11)
    }

    @Test("A type with special characters arrives unchanged")
    func specialType() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz, type: "a&b=c+d%e#ü")
        var types = FieldTypes()
        let answer = shipper.send([shipper.line(of: Samples.minimal, types: &types)])
        #expect(answer.verdict == .accepted)
        #expect(logz.accepted.first?.type == "a&b=c+d%e#ü")
        #expect(logz.accepted.first?.tags == [])
    }

    @Test("One bad line among good ones is counted, and the good ones are accepted")
    func badLine() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz)
        var lines = lines(9)
        lines.insert(Array("{broken".utf8), at: 4)

        let answer = shipper.send(lines)

        #expect(answer.verdict == .partial(PartialAnswer(successful: 9)))
        #expect(answer.summary.text == "400: 1 of 10 lines rejected (malformed 1)")
        #expect(logz.accepted.count == 9)
    }

    @Test("An invalid token pauses the destination until the credential changes")
    func credential() throws {
        let logz = try logz()
        let store = TokenStore()
        store.set("OLD-MARKED")
        var shipper = HTTPShipper(LogzFormat(try settings(for: logz)), credential: Credential { store.token }) {
            moment
        }

        let refused = shipper.send(lines(1))
        #expect(refused.verdict == .paused(.unauthorised))
        #expect(refused.summary.text == "401 from 127.0.0.1:\(logz.port)")
        let isOther = shipper.rereadCredential()
        #expect(!isOther)

        store.set(nil)
        let isOtherWithNone = shipper.rereadCredential()
        #expect(!isOtherWithNone)
        let withoutToken = shipper.send(lines(1))
        #expect(withoutToken.verdict == .paused(.noCredential))
        #expect(logz.requests.count == 1)

        store.set(Self.token)
        let isOtherNow = shipper.rereadCredential()
        #expect(isOtherNow)
        let isOtherOnceMore = shipper.rereadCredential()
        #expect(!isOtherOnceMore)
        let withNewToken = shipper.send(lines(1))
        #expect(withNewToken.verdict == .accepted)
    }

    @Test("A listener that reads the request but does not respond may have accepted it")
    func silence() throws {
        let logz = try logz(FaultStep(.readSilent))
        var shipper = try shipper(to: logz, timeout: .milliseconds(300))
        let answer = shipper.send(lines(3))
        #expect(answer.verdict == .ambiguous(.noAnswer))
        #expect(logz.accepted.count == 3)
        let again = shipper.send(lines(3))
        #expect(again.verdict == .accepted)
        #expect(logz.stats.duplicates == 3)
    }

    @Test("A time limit for a single request shortens the configured timeout")
    func limited() throws {
        let logz = try logz(FaultStep(.readSilent))
        var shipper = try shipper(to: logz, timeout: .seconds(600))
        let body = shipper.prepare()
        for line in lines(1) { body.add(line) }
        let began = MonotonicClock.now
        let answer = shipper.send(body, within: .milliseconds(200))
        #expect(answer.verdict == .ambiguous(.noAnswer))
        #expect(began.duration(to: MonotonicClock.now) < .seconds(60))
    }

    @Test("The next request reaches a listener that is up again")
    func down() throws {
        let logz = try logz()
        var shipper = try shipper(to: logz)
        try logz.down()
        let refused = shipper.send(lines(1))
        #expect(refused.verdict == .again(.refused, retryAfter: nil))
        try logz.up()
        let delivered = shipper.send(lines(1))
        #expect(delivered.verdict == .accepted)
        #expect(logz.accepted.count == 1)
    }

    @Test("If a reused connection ends during a request, the request may be a duplicate")
    func twice() throws {
        let logz = try logz(FaultStep(.keepAliveClose(crossing: true)))
        var shipper = try shipper(to: logz)
        let first = shipper.send(lines(1))
        #expect(!first.mayHaveArrivedTwice)
        let second = shipper.send(lines(2))
        #expect(second.verdict == .accepted || second.verdict == .ambiguous(.noAnswer))
        #expect(second.mayHaveArrivedTwice || second.verdict == .ambiguous(.noAnswer))
    }

    /// Faults of the listener, each with the resulting verdict.
    static let faults: [(Fault, DeliveryVerdict)] = [
        (.acceptSilent, .ambiguous(.noAnswer)),
        (.readSilent, .ambiguous(.noAnswer)),
        (.drip(.seconds(1)), .ambiguous(.noAnswer)),
        (.slowAnswer(.milliseconds(50)), .accepted),
        (.tooLargeLate, .tooLarge),
        (.tooLargeEarly(reset: false), .tooLarge),
        (.tooLargeAbove(bytes: 100), .tooLarge),
        (.allMalformed, .partial(PartialAnswer(successful: 0))),
        (.poison("id-7"), .partial(PartialAnswer(successful: 19))),
        (.badRequestWithoutBody, .partial(PartialAnswer(successful: nil))),
        (.badRequestWithBadJSON, .partial(PartialAnswer(successful: nil))),
        (.resetMidBody(after: 10), .ambiguous(.noAnswer)),
        (.resetBeforeAnswer, .ambiguous(.noAnswer)),
        (.resetOn("id-7"), .ambiguous(.noAnswer)),
        (.truncatedAnswer, .ambiguous(.noAnswer)),
        (.garbage, .ambiguous(.noAnswer)),
        (.hugeAnswer(bytes: 1_000_000), .accepted),
        (.status(401, headers: [], body: "no MARKED+TOKEN/1"), .paused(.unauthorised)),
        (.status(403, headers: [], body: "/?token=MARKED%2BTOKEN%2F1"), .paused(.forbidden)),
        (.authFlip(after: 0), .paused(.unauthorised)),
        (.status(404), .paused(.notFound)),
        (
            .status(301, headers: [HTTPField("Location", "http://127.0.0.1:1/?token=MARKED")], body: ""),
            .paused(.redirected)
        ),
        (
            .status(429, headers: [HTTPField("Retry-After", "7")], body: "MARKED%2bTOKEN%2f1"),
            .again(.tooManyRequests, retryAfter: .seconds(7))
        ),
        (
            .status(503, headers: [HTTPField("Retry-After", "Sat, 21 Nov 2026 10:01:00 GMT")], body: ""),
            .again(.overloaded, retryAfter: .milliseconds(59_877))
        ),
        (.status(500, headers: [HTTPField("Retry-After", "junk")], body: ""), .again(.serverError, retryAfter: nil)),
    ]

    @Test("Each listener fault has the expected verdict, and the result does not reveal the token", arguments: faults)
    func fault(fault: Fault, verdict: DeliveryVerdict) throws {
        let logz = try logz(FaultStep(fault, times: .forever))
        var shipper = try shipper(to: logz, timeout: .milliseconds(500))
        let answer = shipper.send(lines(20))
        #expect(answer.verdict == verdict)
        var dumped = ""
        dump(answer, to: &dumped)
        for text in [answer.summary.text, "\(answer)", String(reflecting: answer), dumped] {
            #expect(!text.contains("MARKED"), "\(text)")
        }
    }
}

extension Shipper where Self: ~Copyable {
    /// Sends lines as one request and waits for the response.
    fileprivate mutating func send(_ lines: [[UInt8]]) -> DeliveryResult {
        let body = prepare()
        for line in lines { body.add(line) }
        return send(body, within: nil)
    }
}

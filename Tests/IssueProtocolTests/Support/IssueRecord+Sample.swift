import IssueProtocol

extension IssueRecord {
    /// A record with random members. Each optional one may be absent.
    static func sample(_ seed: UInt64) -> IssueRecord {
        var sampler = RecordSampler(seed: seed)
        return sampler.record()
    }

    /// A record with all members.
    static let full = IssueRecord(
        message: "Decoding failed: \"price\"\n", severity: .critical, domain: "com.example.shop", code: -4865,
        occurredAt: IssueTimestamp(millisecondsSince1970: 1_795_255_200_123),
        firstOccurredAt: IssueTimestamp(millisecondsSince1970: 1_795_255_100_000), count: 3,
        source: SourceLocation(
            fileID: "Shop/Catalogue.swift", line: 42, column: 9, function: "load(page:)", module: "Shop"),
        app: Application(
            name: "shop", version: "2.0.0", build: 2500, environment: "production", platform: "linux",
            network: "wifi", development: false),
        fingerprint: "same",
        backtrace: [
            BacktraceFrame(image: "shop", buildID: "ab12", offset: 74565, symbol: "main", file: "main.swift", line: 1),
            BacktraceFrame(),
        ],
        causes: [IssueCause(domain: "NSCocoaErrorDomain", code: 4865, message: "…"), IssueCause(message: "")],
        metadata: ["attempt": 3, "payload": ["price": nil, "list": [1, 2.5, true]]], reportable: true,
        template: "Decoding {}: {}\n", parts: ["failed", .string("\"price\"")],
        context: IssueContext(
            traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", requestID: "r-\"7\"", user: "anna")
    )

    /// A record with all members that the daemon returns.
    static var returned: IssueRecord {
        var record = full
        record.template = nil
        record.parts = []
        return record
    }
}

import IssueCore
import IssueProtocol

/// 2026-11-21T10:00:00.123Z.
let moment = IssueTimestamp(millisecondsSince1970: 1_795_255_200_123)

/// The records, summaries and corrections for the golden files.
enum Samples {
    static func outbound(
        _ record: IssueRecord, app: String = "shop", unit: String? = nil, repairs: [String] = []
    ) -> OutboundRecord {
        OutboundRecord(
            stored: StoredRecord(
                id: "0123456789ab-1", group: "g", receivedAt: moment,
                sender: Sender(uid: 1001, gid: 1001, pid: 4711, command: "shopd", unit: unit), repairs: repairs,
                record: record),
            app: app, fingerprint: "9a41c07e55b2d310", host: "web-3", suppressedBefore: 0, occurrences: 1)
    }

    static func outbound(metadata: JSONValue) -> OutboundRecord {
        outbound(IssueRecord(message: "m", severity: .error, occurredAt: moment, metadata: metadata))
    }

    static let minimal = outbound(IssueRecord(message: "disk full"))

    static var full: OutboundRecord {
        let record = IssueRecord(
            message: "The page 7 could not be read", severity: .error, domain: "com.example.shop.DecodingError",
            code: 4865, occurredAt: IssueTimestamp(millisecondsSince1970: moment.millisecondsSince1970 - 250), count: 1,
            source: SourceLocation(fileID: "Shop/Catalogue.swift", line: 42, column: 9, function: "load(page:)"),
            app: Application(
                name: "shop", version: "2.0.0", build: 2500, environment: "production", platform: "linux",
                network: "wifi", development: false),
            backtrace: [
                BacktraceFrame(
                    image: "shop", buildID: "abc", offset: 0x1A2B, symbol: "load(page:)", file: "Shop/Catalogue.swift",
                    line: 42),
                BacktraceFrame(image: "libc.so.6", buildID: "def", offset: 0x2718),
                BacktraceFrame(),
            ],
            causes: [
                IssueCause(domain: "NSCocoaErrorDomain", code: 3840, message: "Unexpected end of file"),
                IssueCause(message: "no bytes"),
            ],
            metadata: ["assessment": "a-17", "attempt": 3, "ratio": 0.5, "cached": true, "tags": ["a", "b"]],
            reportable: true)
        var outbound = outbound(record, unit: "shop.service", repairs: ["the severity was not known"])
        outbound.occurrences = 1289
        outbound.suppressedBefore = 12
        return outbound
    }

    static let hostile = outbound(
        IssueRecord(
            message: "a \"quoted\" \\ back / slash\r\n\ttab \u{0} \u{1B}[31m \u{7F} \u{2028} </script>",
            severity: .critical, domain: "", code: .min, occurredAt: moment,
            source: SourceLocation(fileID: "a\nb", line: -1, function: "f(\"\n\")"),
            app: Application(
                name: "x", version: "", build: .max, environment: "\u{0}", platform: "Plan 9/../..", network: "\n"),
            fingerprint: "mine",
            backtrace: [BacktraceFrame(symbol: "one\ntwo", file: "f", line: .max), BacktraceFrame(offset: .max)],
            metadata: [
                "": 1, ".": 2, "a..b": 3, "end.": 4, "ok": "fine", "line\nfeed": "a\nb",
                "huge": .number("123456789012345678901234567890"), "infinite": .number("1e999"),
                "large": .number("1e39"),
                "least": .integer(.min), "nothing": nil, "twice": 1, "twice": 2,
            ]),
        app: "tab\there", unit: "evil\u{0}.service")

    static var deep: OutboundRecord {
        var value: JSONValue = ["bottom": 1]
        for level in (1...14).reversed() { value = ["level\(level)": value, "beside": .integer(Int64(level))] }
        return outbound(metadata: ["deep": value, "list": [[[[[[[[[[["x"]]]]]]]]]]], "a.b.c": "dots", "a.b.d": "more"])
    }

    static let huge = outbound(
        IssueRecord(
            message: String(repeating: "é", count: 20_000), severity: .error, occurredAt: moment,
            metadata: [
                "text": .string(String(repeating: "0123456789", count: 3_300)),
                "short": "stays",
            ]))

    static let reserved = outbound(metadata: [
        "domain": "a", "code": 1, "message": "b", "mobile": ["x": 1], "token": "c", "type": "d", "@timestamp": "e",
        "ios.metadata": "f", "metadata_domain": "taken", "host": "not reserved", "nested": ["domain": "is free"],
    ])

    static let unicode = outbound(
        IssueRecord(
            message: "Grüße 👩‍👩‍👧‍👦 日本語 \u{1F1E9}\u{1F1EA} e\u{301} \u{FFFD} \u{10FFFF}", severity: .warning,
            domain: "домен", occurredAt: moment, metadata: ["ключ": "значение", "🔑": ["ü": "ö"]]),
        app: "магазин")

    static let wrongClock = outbound(
        IssueRecord(message: "m", severity: .info, occurredAt: IssueTimestamp(millisecondsSince1970: 0)),
        repairs: ["first"])

    static let summary = OutboundSummary(
        eventID: "summary-logzio-7-group_rate-1", app: "checkout", host: "web-3", uid: 1001,
        group: "g92c9da597585468b", fingerprint: "9a41c07e55b2d310", title: "Timed out after <n> ms",
        domain: "com.example.Timeout", code: -7,
        application: Application(version: "2.0.0", build: 2500, environment: "production", platform: "linux"),
        severity: .error, reason: .groupRate, windowStart: moment, windowEnd: moment.advanced(by: .seconds(60)),
        firstSeen: moment.advanced(by: .seconds(1)), lastSeen: moment.advanced(by: .seconds(59)),
        suppressedCount: 1284, forwardedCount: 5, occurrences: 1289, sequence: 1, distinctGroups: 1,
        sampleIDs: ["0123456789ab-1", "0123456789ab-2"], stillSuppressing: true)

    static var summaryOfSeveral: OutboundSummary {
        var summary = summary
        summary.group = nil
        summary.fingerprint = nil
        summary.title = ""
        summary.domain = nil
        summary.code = nil
        summary.application = Application()
        summary.suppressedCount = 1_234_567
        summary.distinctGroups = 1_000
        summary.sampleIDs = []
        summary.stillSuppressing = false
        return summary
    }

    static let correction = OutboundCorrection(
        eventID: "c-0f1e2d3c4b5a6978", host: "web-3",
        correction: GroupCorrection(
            id: 7, kind: .merge, group: "g92c9da597585468b", other: "g0b5c7d1e2f3a4b5c", app: "checkout", user: 1001,
            author: 1000, timestamp: moment, reason: "same \"cause\""),
        isUndone: false, fingerprint: "9a41c07e55b2d310", otherFingerprint: "0c2f4a6e8b1d3f57")

    static var undoneSplit: OutboundCorrection {
        var split = correction
        split.correction.kind = .split
        split.correction.template = "com.example.Timeout"
        split.correction.field = .domain
        split.correction.reason = nil
        split.isUndone = true
        return split
    }

    static var rule: OutboundCorrection {
        var rule = correction
        rule.correction.kind = .rule
        rule.correction.template = "Invalid user * from <address>"
        rule.correction.other = nil
        rule.otherFingerprint = nil
        return rule
    }

    /// The types of the fields that existed before the record `typeConflicts`.
    static let knownTypes = FieldTypes([
        "linux": .object, "linux.metadata": .object, "linux.metadata.attempt": .integer,
        "linux.metadata.ratio": .number,
        "linux.metadata.user": .object, "linux.metadata.user.id": .string,
    ])

    static let typeConflicts = outbound(metadata: [
        "attempt": "three", "ratio": 1, "user": ["id": 7, "name": "n"], "mixed": [1, "two"], "list": [1, 2],
        "things": [["a": 1], ["a": 2, "b": "x"]], "quarrel": [["a": 1], ["a": "one"]],
    ])
}

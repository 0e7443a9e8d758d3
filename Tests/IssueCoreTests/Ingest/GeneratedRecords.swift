import IssueProtocol

/// Random records as clients might send them, with and without each field. Reproducible by seed.
struct GeneratedRecords {
    var traffic: SeededGenerator

    init(seed: UInt64) {
        traffic = SeededGenerator(seed: seed)
    }

    mutating func next() -> IssueRecord {
        var record = IssueRecord(message: GeneratedTexts.message(using: &traffic))
        record.severity = maybe { IssueLevel(rank: UInt8($0.number(below: 5))) }
        record.domain = text()
        record.code = integer()
        record.occurredAt = time()
        record.firstOccurredAt = time()
        record.count = maybe { 1 + $0.number(below: 1_000_000_000) }
        if traffic.happens(oneIn: 2) {
            record.source = SourceLocation(
                fileID: text(), line: integer(), column: integer(), function: text(), module: text())
        }
        if traffic.happens(oneIn: 2) {
            record.app = Application(
                name: text(), version: text(), build: integer(), environment: text(), platform: text(),
                network: text(), development: maybe { $0.happens(oneIn: 2) })
        }
        record.fingerprint = text()
        if traffic.happens(oneIn: 4) {
            record.causes = (0..<traffic.number(below: 4)).map { _ in
                IssueCause(domain: text(), code: integer().map { Int($0) }, message: text() ?? "")
            }
        }
        if traffic.happens(oneIn: 4) {
            record.backtrace = (0..<traffic.number(below: 4)).map { _ in
                BacktraceFrame(
                    image: text(), buildID: text(), offset: integer().map { UInt64(bitPattern: $0) }, symbol: text(),
                    file: text(), line: integer().map { Int($0) })
            }
        }
        if traffic.happens(oneIn: 3) { record.metadata = .object(members(depth: 3)) }
        record.reportable = maybe { $0.happens(oneIn: 2) }
        addTemplate(to: &record)
        record.context = IssueContext(
            traceID: digits(32), spanID: digits(16), requestID: text(),
            user: maybe { "user \($0.number(below: 10))" })
        return record
    }

    /// Adds a template and parts, which often agree with the message.
    private mutating func addTemplate(to record: inout IssueRecord) {
        switch traffic.number(below: 5) {
        case 0:
            let value = GeneratedTexts.message(using: &traffic)
            let number = traffic.number(below: 1000)
            record.template = record.message.replacing("{", with: "{{").replacing("}", with: "}}") + " is {} of {}"
            record.parts = [.string(value), .integer(number)]
            record.message += " is \(value) of \(number)"
            if traffic.happens(oneIn: 2) { record.message += GeneratedTexts.message(using: &traffic) }
        case 1:
            record.template = text()
            record.parts = (0..<traffic.number(below: 4)).map { _ in .string(text() ?? "") }
        default: break
        }
    }

    private mutating func maybe<Value>(_ make: (inout SeededGenerator) -> Value?) -> Value? {
        traffic.happens(oneIn: 2) ? make(&traffic) : nil
    }

    private mutating func text() -> String? {
        maybe { $0.happens(oneIn: 10) ? "" : GeneratedTexts.message(using: &$0) }
    }

    /// Returns hexadecimal digits.
    private mutating func digits(_ count: Int) -> String? {
        maybe { traffic in String((0..<count).map { _ in Array("123456789abcdef")[Int(traffic.number(below: 15))] }) }
    }

    private mutating func integer() -> Int64? {
        maybe { traffic in
            switch traffic.number(below: 6) {
            case 0: [Int64.min, .max, 0, -1][Int(traffic.number(below: 4))]
            default: traffic.number(below: 10_000)
            }
        }
    }

    private mutating func time() -> IssueTimestamp? {
        maybe { IssueTimestamp(millisecondsSince1970: $0.number(below: 4_000_000_000_000) - 1_000_000_000_000) }
    }

    private mutating func members(depth: Int) -> [JSONValue.Member] {
        (0..<traffic.number(below: 5)).map { number in
            JSONValue.Member("\(number)\(GeneratedTexts.message(using: &traffic))", value(depth: depth))
        }
    }

    private mutating func value(depth: Int) -> JSONValue {
        switch traffic.number(below: depth > 0 ? 8 : 6) {
        case 0: .null
        case 1: .bool(traffic.happens(oneIn: 2))
        case 2: .integer(traffic.number(below: .max))
        case 3: .number("-1.50e+10")
        case 4, 5: .string(GeneratedTexts.message(using: &traffic))
        case 6: .array((0..<traffic.number(below: 4)).map { _ in value(depth: depth - 1) })
        default: .object(members(depth: depth - 1))
        }
    }
}

import IssueProtocol

/// Generates random records.
struct RecordSampler {
    private var json: JSONGenerator

    init(seed: UInt64) {
        json = JSONGenerator(seed: seed)
    }

    mutating func record() -> IssueRecord {
        IssueRecord(
            message: json.string(), severity: isThere ? json.chance.pick(IssueLevel.allCases) : nil, domain: text(),
            code: number(), occurredAt: moment(), firstOccurredAt: moment(), count: number(),
            source: isThere
                ? SourceLocation(fileID: text(), line: number(), column: number(), function: text(), module: text())
                : nil,
            app: isThere
                ? Application(
                    name: text(), version: text(), build: number(), environment: text(), platform: text(),
                    network: text(), development: flag())
                : nil,
            fingerprint: text(),
            backtrace: few.map { _ in
                BacktraceFrame(
                    image: text(), buildID: text(), offset: number().map { UInt64(bitPattern: $0) }, symbol: text(),
                    file: text(), line: number().map { Int($0) })
            },
            causes: few.map { _ in IssueCause(domain: text(), code: number().map { Int($0) }, message: text() ?? "") },
            metadata: isThere ? ["a": json.value(), "b": json.value()] : nil, reportable: flag(), template: text(),
            parts: few.map { _ in .string(json.string()) }, context: context())
    }

    private mutating func context() -> IssueContext {
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in json.chance.pick(Array("0123456789abcde")) })
        }
        return IssueContext(
            traceID: isThere ? "f" + digits(31) : nil, spanID: isThere ? digits(15) + "f" : nil,
            requestID: text().flatMap { $0.isEmpty ? nil : $0 }, user: isThere ? "u" : nil)
    }

    private var isThere: Bool {
        mutating get { !json.chance.oneIn(3) }
    }

    private var few: Range<Int> {
        mutating get { 0..<json.chance.pick([0, 1, 3]) }
    }

    private mutating func text() -> String? { isThere ? json.string() : nil }

    private mutating func flag() -> Bool? { isThere ? .random(using: &json.chance) : nil }

    private mutating func number() -> Int64? {
        isThere ? json.chance.pick([0, -1, .max, .min, .random(in: 0...100_000, using: &json.chance)]) : nil
    }

    private mutating func moment() -> IssueTimestamp? {
        guard isThere else { return nil }
        let named: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
        return IssueTimestamp(millisecondsSince1970: .random(in: named, using: &json.chance))
    }
}

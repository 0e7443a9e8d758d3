import IssueProtocol

/// Reproducible records of some issues of some applications, determined by the seed (SplitMix64).
struct SampleRecords: RandomNumberGenerator {
    private var state: UInt64
    private var number: Int64 = 0
    /// The number of different issues. The first ones are common, the last ones rare.
    var issues: Int64 = 12

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int64) -> Int64 { Int64.random(in: 0..<bound, using: &self) }

    /// Returns letters and digits that cannot be compressed by much.
    mutating func noise(_ count: Int) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        var text = ""
        var bits: UInt64 = 0
        for index in 0..<count {
            if index % 10 == 0 { bits = next() }
            text.append(letters[Int(bits & 63)])
            bits >>= 6
        }
        return text
    }

    mutating func record() -> IssueRecord {
        number += 1
        let issue = below(below(issues) + 1)
        var record = IssueRecord(
            message: "Issue \("abcdefghijklmnopqrstuvwxyz".dropFirst(Int(issue)).prefix(1)) took \(number) ms")
        record.severity = IssueLevel(rank: UInt8(issue % 5))
        record.domain = "com.example.\(issue % 3)"
        record.code = issue % 2 == 0 ? issue : nil
        record.count = below(4) == 0 ? below(9) + 1 : nil
        record.app = Application(
            name: issue % 4 == 3 ? nil : "app\(issue % 4)", version: "1.\(below(2))",
            environment: below(2) == 0 ? "production" : nil)
        record.source = SourceLocation(fileID: "Module\(issue)/File\(issue % 5).swift", line: issue, function: "f()")
        if below(3) == 0 { record.metadata = ["number": .integer(number)] }
        if below(20) == 0 { record.message = "\u{1}whole \(number)" }
        if below(30) == 0 { record.causes = [IssueCause(domain: "d", code: Int(number), message: "beneath")] }
        if below(15) == 0 { record.reportable = false }
        if below(5) == 0 {
            record.occurredAt = IssueTimestamp(millisecondsSince1970: 1_700_000_000_000 + below(1_000_000_000))
        }
        // Without a random number, so that the other fields do not depend on it.
        if number % 6 == 0 {
            let digits = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1 << 63, radix: 16)
            record.context = IssueContext(
                traceID: digits + digits, spanID: number % 12 == 0 ? digits : nil, requestID: "r-\(number)",
                user: number % 18 == 0 ? "user \(number)" : nil)
        }
        return record
    }

    mutating func records(_ count: Int) -> [IssueRecord] { (0..<count).map { _ in record() } }
}

import IssueProtocol

/// Finds the lines that break the rules for which Logz.io refuses lines, as they are documented.
///
/// What it takes and spoils later is no part of this, since it does not count
/// among the refused.
enum LineCheck {
    static let mostBytes = 500_000

    /// The places of the bad lines.
    static func suspects(in lines: [[UInt8]]) -> [Int] {
        lines.indices.filter { !isGood(lines[$0]) }
    }

    private static func isGood(_ line: [UInt8]) -> Bool {
        guard !line.isEmpty, line.count <= mostBytes, !line.contains(0x0A) else { return false }
        var scanner = JSONScanner(line.span)
        do {
            guard try scanner.kind() == .object else { return false }
            try scanner.skipValueOfAnySize()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }
}

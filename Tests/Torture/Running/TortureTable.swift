/// The faults of a run and what was seen.
package struct TortureTable {
    struct Row {
        var times = 0
        var reached = 0
        var sent = 0
        var acknowledged = 0
        var found = 0
        var resent = 0
        var lines: Set<String> = []
    }

    private(set) var rows: [String: Row] = [:]
    /// The number of times that each kind of call was the first to fail.
    private var failedKinds: [String: Int] = [:]

    mutating func add(_ row: Row, to fault: String) {
        var sum = rows[fault] ?? Row()
        sum.times += row.times
        sum.reached += row.reached
        sum.sent += row.sent
        sum.acknowledged += row.acknowledged
        sum.found += row.found
        sum.resent += row.resent
        sum.lines.formUnion(row.lines)
        rows[fault] = sum
    }

    /// Adds the rows of another table.
    mutating func add(_ other: TortureTable) {
        for (name, row) in other.rows { add(row, to: name) }
        for (kind, count) in other.failedKinds { failedKinds[kind, default: 0] += count }
    }

    mutating func add(failed kind: String) {
        failedKinds[kind, default: 0] += 1
    }

    /// The faults that were requested but never happened.
    package var unreached: [String] {
        rows.filter { $0.value.reached == 0 }.map(\.key).sorted()
    }

    /// The number of kills at points and at random. Kills during other faults are not counted.
    package var kills: Int {
        rows.filter { $0.key.hasPrefix("SIGKILL") }.reduce(0) { $0 + $1.value.reached }
    }

    /// The table in Markdown.
    package var text: String {
        var lines = [
            "| fault | times | reached | sent | acknowledged | found | sent again |", "|---|--:|--:|--:|--:|--:|--:|",
        ]
        var sum = Row()
        for (name, row) in rows.sorted(by: { $0.key < $1.key }) {
            lines.append(Self.line(name, row))
            sum.times += row.times
            sum.reached += row.reached
            sum.sent += row.sent
            sum.acknowledged += row.acknowledged
            sum.found += row.found
            sum.resent += row.resent
        }
        lines.append(Self.line("**all**", sum))
        if !failedKinds.isEmpty {
            let kinds = failedKinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines += ["", "Calls that failed first: " + kinds.joined(separator: ", ") + "."]
        }
        lines += ["", "Warnings and errors in the log:"]
        for (name, row) in rows.sorted(by: { $0.key < $1.key }) where !row.lines.isEmpty {
            lines += row.lines.sorted().map { "- \(name): \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    private static func line(_ name: String, _ row: Row) -> String {
        let numbers = [row.times, row.reached, row.sent, row.acknowledged, row.found, row.resent]
        return "| \(name) | " + numbers.map { "\($0)" }.joined(separator: " | ") + " |"
    }
}

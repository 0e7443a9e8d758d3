import Issues

/// A table of the reports and their receipts, one line each.
struct ReceiptTable {
    private let entries: [ReceiptBook.Entry]

    init(_ entries: [ReceiptBook.Entry]) {
        self.entries = entries
    }

    /// The complete table. Waits for all receipts.
    var text: String {
        get async throws {
            var rows = [["RECEIPT", "LEVEL", "ISSUE"]]
            for entry in entries {
                let id = try await entry.receipt.stored()
                rows.append([id, entry.report.level.rawValue, entry.report.message])
            }
            let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
            let lines = rows.map { row in
                let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                return (cells + [row[2]]).joined(separator: "  ")
            }
            return lines.joined(separator: "\n")
        }
    }
}

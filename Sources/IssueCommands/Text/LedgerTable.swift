import IssueProtocol

/// The equation of the ledger as a sum on paper, a column for each destination.
struct LedgerTable {
    private let destinations: [DestinationStatus]
    private let width: Int?
    private let painter: Painter

    init(_ destinations: [DestinationStatus], width: Int?, painter: Painter) {
        self.destinations = destinations
        self.width = width
        self.painter = painter
    }

    var lines: [String] {
        guard !destinations.isEmpty else { return [] }
        // As many side by side as there is room for, the others below.
        let perTable = width.map { max(1, ($0 - 17) / 18) } ?? destinations.count
        var lines: [String] = []
        for start in stride(from: 0, to: destinations.count, by: perTable) {
            lines.append("")
            lines += table(Array(destinations[start..<min(start + perTable, destinations.count)]))
        }
        return lines
    }

    private func table(_ destinations: [DestinationStatus]) -> [String] {
        let columns =
            [Column("LEDGER")]
            + destinations.map { Column(HarmlessText.line($0.name), alignment: .right, maximum: 16, minimum: 4) }
        var rows = [
            [Cell("  received")] + destinations.map { Cell(Quantity.text($0.ledger.received)) }
        ]
        for (index, fate) in Fate.allCases.enumerated() {
            let sign = index == 0 ? "=" : "+"
            rows.append(
                [Cell("\(sign) \(fate.label)")] + destinations.map { Cell(Quantity.text($0.ledger[fate])) })
        }
        rows.append([Cell("")] + destinations.map { verdict($0.ledger) })
        var table = Table(columns, width: width, painter: painter)
        return table.lines(rows)
    }

    private func verdict(_ ledger: Ledger) -> Cell {
        if ledger.balances { return Cell("balances") }
        let sum = Fate.allCases.reduce(Int64(0)) { $0 &+ ledger[$1] }
        let difference = ledger.received &- sum
        return Cell("off by \(Quantity.text(difference))", style: .error)
    }
}

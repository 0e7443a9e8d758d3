/// Draws the simulation as an SVG bar chart with a logarithmic scale.
struct LimitsChart {
    private let simulation: LimitsSimulation

    private static let column = 14
    private static let decade = 56
    private static let left = 60
    private static let bottom = 300
    private static let width = left + LimitsSimulation.length * column + 20

    init(_ simulation: LimitsSimulation) {
        self.simulation = simulation
    }

    var svg: String {
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) 370" font-family="sans-serif" \
            font-size="12" role="img" aria-label="Records received and sent in each minute">
            """,
            #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        for power in 0...4 {
            let y = Self.bottom - power * Self.decade
            lines.append("<path d=\"M\(Self.left) \(y)H\(Self.width - 20)\" stroke=\"#ddd\"/>")
            lines.append("<text x=\"\(Self.left - 8)\" y=\"\(y + 4)\" text-anchor=\"end\">\(Self.ten(power))</text>")
        }
        for (index, event) in LimitsSimulation.events.enumerated() {
            let x = Self.left + event.from * Self.column
            lines.append(
                "<rect x=\"\(x)\" y=\"40\" width=\"\((event.to - event.from) * Self.column)\" height=\"260\" fill=\"#f6f6f0\"/>"
            )
            lines.append("<text x=\"\(x)\" y=\"\(34 - index % 2 * 14)\" font-size=\"11\">\(event.words)</text>")
        }
        for (index, minute) in simulation.minutes.enumerated() {
            let x = Self.left + index * Self.column
            lines.append(bar(x + 1, minute.received, "#c9c9c9", 12))
            lines.append(bar(x + 3, minute.whole, "#2c7fb8", 8))
            if minute.summaries > 0 {
                lines.append("<circle cx=\"\(x + 7)\" cy=\"\(y(minute.summaries))\" r=\"3\" fill=\"#d95f0e\"/>")
            }
            if index % 10 == 0 { lines.append("<text x=\"\(x)\" y=\"318\">\(index) min</text>") }
        }
        lines += legend
        lines.append("</svg>")
        return lines.filter { !$0.isEmpty }.joined(separator: "\n") + "\n"
    }

    private var legend: [String] {
        [("#c9c9c9", "received per minute"), ("#2c7fb8", "sent whole"), ("#d95f0e", "summaries sent")].enumerated()
            .flatMap { index, entry in
                let x = Self.left + index * 180
                return [
                    "<rect x=\"\(x)\" y=\"336\" width=\"12\" height=\"12\" fill=\"\(entry.0)\"/>",
                    "<text x=\"\(x + 18)\" y=\"347\">\(entry.1)</text>",
                ]
            }
    }

    private func bar(_ x: Int, _ value: Int64, _ color: String, _ width: Int) -> String {
        guard value > 0 else { return "" }
        let top = y(value) - 3
        return "<rect x=\"\(x)\" y=\"\(top)\" width=\"\(width)\" height=\"\(Self.bottom - top)\" fill=\"\(color)\"/>"
    }

    /// In whole steps of a tenth of a decade, so that the picture is the same on every machine.
    private func y(_ value: Int64) -> Int {
        var (power, rest) = (0, Double(max(value, 1)))
        while rest >= 10 {
            rest /= 10
            power += 1
        }
        let steps = [1.0, 1.26, 1.58, 2, 2.51, 3.16, 3.98, 5.01, 6.31, 7.94].lastIndex { $0 <= rest } ?? 0
        return Self.bottom - power * Self.decade - steps * Self.decade / 10
    }

    private static func ten(_ power: Int) -> String { ["1", "10", "100", "1,000", "10,000"][power] }
}

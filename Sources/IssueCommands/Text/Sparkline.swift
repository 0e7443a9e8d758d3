/// Counts over time as a row of little bars.
package enum Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// One character a count, the highest as high as the line; nothing is a dot, so that it differs from little.
    package static func text(_ counts: [Int64]) -> String {
        let highest = Double(max(1, counts.max() ?? 1))
        return String(
            counts.map { count in
                guard count > 0 else { return "·" }
                let step = Int((Double(count) / highest * Double(bars.count)).rounded(.up)) - 1
                return bars[min(max(step, 0), bars.count - 1)]
            })
    }
}

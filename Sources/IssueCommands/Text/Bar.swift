/// A count as a bar.
package enum Bar {
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// So long that the highest count fills the width; nothing is nothing, and little at least a stroke.
    package static func text(_ count: Int64, highest: Int64, width: Int) -> String {
        guard count > 0, highest > 0, width > 0 else { return "" }
        let share = min(1, Double(count) / Double(highest))
        let length = max(1, Int((share * Double(width * 8)).rounded()))
        return String(repeating: "█", count: length / 8) + (length % 8 > 0 ? String(eighths[length % 8 - 1]) : "")
    }
}

/// Sizes as systemd writes them: `64K`, `1G`, each unit 1024 times the one before; a bare number is in bytes.
package enum SizeText {
    private static let units: [(name: Character, shift: Int64)] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)]

    package static func parse(_ text: String) -> Int64? {
        var rest = text[...].trimmingBlanks
        guard let number = DecimalNumber(takenFrom: &rest) else { return nil }
        rest = rest.trimmingBlanks
        if rest.isEmpty || rest == "B" { return number.times(1) }
        guard rest.count == 1, let unit = units.first(where: { $0.name == rest.first }) else { return nil }
        return number.times(1 << unit.shift)
    }

    package static func text(_ bytes: Int64) -> String {
        for unit in units where bytes != 0 && bytes % (1 << unit.shift) == 0 {
            return "\(bytes >> unit.shift)\(unit.name)"
        }
        return "\(bytes)"
    }
}

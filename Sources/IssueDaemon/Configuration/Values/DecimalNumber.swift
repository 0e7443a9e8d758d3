/// A number without a sign, possibly with a fraction, as it stands before a unit.
struct DecimalNumber {
    private var whole: Int64
    private var fraction: Int64 = 0
    private var scale: Int64 = 1

    /// Takes the digits at the start of a text away; nil where there are none, or too many.
    init?(takenFrom text: inout Substring) {
        let digits = text.prefix { $0.isASCIIDigit }
        guard !digits.isEmpty, let whole = Int64(digits) else { return nil }
        self.whole = whole
        text = text.dropFirst(digits.count)
        guard text.first == "." else { return }
        let decimals = text.dropFirst().prefix { $0.isASCIIDigit }
        // Six are enough for a microsecond, and for every size that anyone writes.
        guard !decimals.isEmpty, decimals.count <= 6, let fraction = Int64(decimals) else { return nil }
        self.fraction = fraction
        for _ in decimals { scale *= 10 }
        text = text.dropFirst(decimals.count + 1)
    }

    /// So many units, towards zero; nil where 64 bits do not hold it.
    func times(_ unit: Int64) -> Int64? {
        let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
        // Divided first: a unit times a million can be too much.
        let part = unit / scale * fraction + unit % scale * fraction / scale
        let (sum, overflowAgain) = product.addingReportingOverflow(part)
        return overflow || overflowAgain ? nil : sum
    }
}

extension Character {
    var isASCIIDigit: Bool { "0" <= self && self <= "9" && isASCII }
    var isASCIILetter: Bool { isASCII && isLetter }
}

extension Duration {
    /// The whole milliseconds, or as many as 64 bits hold.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        guard overflow || sumOverflow else { return sum }
        return seconds < 0 ? .min : .max
    }
}

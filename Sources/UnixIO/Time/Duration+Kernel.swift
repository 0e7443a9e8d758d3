extension Duration {
    /// Nanoseconds, as many as 64 bits hold.
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowAgain) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard overflow || overflowAgain else { return sum }
        return seconds < 0 ? .min : .max
    }

    /// Milliseconds for poll() and epoll_wait(), never less than was asked for.
    ///
    /// Rounded up, since a wait that ends early makes its caller spin.
    var pollMilliseconds: CInt {
        guard self > .zero else { return 0 }
        let nanoseconds = clampedNanoseconds
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return CInt(clamping: milliseconds)
    }
}

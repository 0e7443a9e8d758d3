/// Prevents pipelined reports from leaving a gap after a producer's mark.
///
/// After a numbered report was refused, the following reports on the same connection are refused too, until one starts
/// at or below the refused number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    /// Returns `true` if a numbered report is accepted.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func accepts(_ sequence: Int64) -> Bool {
        guard let refusedFrom else { return true }
        guard sequence <= refusedFrom else { return false }
        self.refusedFrom = nil
        return true
    }

    /// Handles an error reply to a numbered report.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func refused(_ sequence: Int64) {
        refusedFrom = min(refusedFrom ?? sequence, sequence)
    }

    /// `true` if no report is refused now.
    package var isOpen: Bool { refusedFrom == nil }
}

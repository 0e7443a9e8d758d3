/// Prevents pipelined reports from leaving a gap after a producer's mark.
///
/// After a numbered report was refused, the following reports on the same connection are refused
/// too, until one starts at or below the refused number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    package enum Action: Equatable, Sendable {
        case take
        case refuse
    }

    /// Decides whether a numbered report is accepted.
    ///
    /// - Parameter sequence: The sequence number of its first record.
    package mutating func arrived(_ sequence: Int64) -> Action {
        guard let refusedFrom else { return .take }
        guard sequence <= refusedFrom else { return .refuse }
        self.refusedFrom = nil
        return .take
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

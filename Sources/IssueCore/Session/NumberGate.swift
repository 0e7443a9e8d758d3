/// Keeps pipelined reports from leaving a hole behind a producer's mark.
///
/// After a numbered report was refused, those that follow it on the same
/// connection are refused as well, until one begins at or below the refused
/// number.
package struct NumberGate: Equatable, Sendable {
    private var refusedFrom: Int64?

    package init() {}

    package enum Action: Equatable, Sendable {
        case take
        case refuse
    }

    /// A report comes that is numbered from a sequence on.
    package mutating func arrived(_ sequence: Int64) -> Action {
        guard let refusedFrom else { return .take }
        guard sequence <= refusedFrom else { return .refuse }
        self.refusedFrom = nil
        return .take
    }

    /// A report that was numbered from a sequence on has been answered with an error.
    package mutating func refused(_ sequence: Int64) {
        refusedFrom = min(refusedFrom ?? sequence, sequence)
    }

    /// Whether nothing is held up.
    package var isOpen: Bool { refusedFrom == nil }
}

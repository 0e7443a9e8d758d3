internal import UnixIO

/// Which reports come with where they were reported from.
package enum BacktraceChoice: String, CaseIterable, Sendable {
    case none
    case error
    case all

    /// Frames of a report; a frame takes about a hundred bytes.
    static let limit = 16

    func isWanted(for level: IssueLevel) -> Bool {
        switch self {
        case .none: false
        case .error: level >= .error
        case .all: true
        }
    }

    /// The calls under way on this thread that led to a mark, if a report of this level is to have them.
    static func addresses(for level: IssueLevel, above mark: CallStack.Mark) -> [UInt] {
        guard ProcessSettings.shared.backtrace.isWanted(for: level) else { return [] }
        return CallStack.returnAddresses(above: mark, atMost: limit)
    }
}

/// How much a line of the log matters, by the words of journald.
package enum LogLevel: String, CaseIterable, Comparable, Hashable, Sendable {
    case debug, info, notice, warning, error

    /// The number that syslog(3) has for it; the graver, the smaller.
    package var priority: UInt8 {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.priority > right.priority
    }
}

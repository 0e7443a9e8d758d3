/// In an outage sends the smallest batch, a single line, and lets the size grow again step by step after it.
package struct CircuitBreaker: Equatable, Sendable {
    private enum State: Equatable {
        case closed(failures: Int)
        case open
        case slowStart(lines: Int)
    }

    package static let threshold = 5
    package static let probeLines = 1
    /// As many go after the one that was taken.
    package static let firstLines = 10

    private var state: State

    package init(failures: Int = 0) {
        state = failures >= Self.threshold ? .open : .closed(failures: max(0, failures))
    }

    package var isOpen: Bool { state == .open }

    /// The most lines that the next request may have, if it is to be small.
    package var lineLimit: Int? {
        switch state {
        case .closed: nil
        case .open: Self.probeLines
        case .slowStart(let lines): lines
        }
    }

    /// - Parameter opens: Whether one such failure is enough, as a second one may take as long.
    package mutating func failed(opens: Bool = false) {
        switch state {
        case .closed(let failures):
            state = opens || failures + 1 >= Self.threshold ? .open : .closed(failures: failures + 1)
        case .open, .slowStart:
            state = .open
        }
    }

    /// - Parameter full: The size from which on a request needs no limit.
    package mutating func succeeded(full: Int) {
        switch state {
        case .closed:
            state = .closed(failures: 0)
        case .open:
            state = Self.firstLines < full ? .slowStart(lines: Self.firstLines) : .closed(failures: 0)
        case .slowStart(let lines):
            state = lines * 2 < full ? .slowStart(lines: lines * 2) : .closed(failures: 0)
        }
    }
}

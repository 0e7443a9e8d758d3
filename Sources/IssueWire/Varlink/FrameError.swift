/// Why a stream of messages can't go on.
package enum FrameError: Error, Equatable, Sendable {
    /// A message that is longer than allowed, whether or not its end has come.
    case tooLarge(limit: Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let limit): "a message is longer than \(limit) bytes"
        }
    }
}

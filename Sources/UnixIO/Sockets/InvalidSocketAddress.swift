/// Why a text cannot be the address of a Unix socket.
package enum InvalidSocketAddress: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    case containsNul
    case tooLong(path: String)

    package var description: String {
        switch self {
        case .empty:
            "A socket needs a path, or a name behind the @."
        case .containsNul:
            "The path of a socket cannot hold a NUL character."
        case .tooLong(let path):
            "The path of a socket can have at most 107 bytes, and “\(path)” has \(path.utf8.count)."
        }
    }
}

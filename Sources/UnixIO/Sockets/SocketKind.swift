/// Whether a socket carries a stream of bytes or separate messages.
package enum SocketKind: Sendable {
    case stream
    case datagram

    var isStream: CInt {
        switch self {
        case .stream: 1
        case .datagram: 0
        }
    }
}

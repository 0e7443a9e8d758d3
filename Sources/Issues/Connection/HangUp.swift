internal import UnixIO

/// Ends a connection from another thread than the one that waits on it.
package final class HangUp: Sendable {
    private let socket: FileDescriptor

    init(_ socket: consuming FileDescriptor) {
        self.socket = socket
    }

    package func now() {
        // Whoever waits sees the end; one that has ended already is no matter.
        try? socket.shutdownBoth()
    }
}

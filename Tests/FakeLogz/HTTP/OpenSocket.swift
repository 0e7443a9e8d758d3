import UnixIO

/// A socket that one thread serves and another can shut down.
final class OpenSocket: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Ends both directions, which wakes waiting threads.
    func cut() {
        try? descriptor.shutdownBoth()
    }

    /// Waits without reading until the peer has gone or the socket was shut down.
    func waitForEnd() {
        guard let poller = try? Poller(capacity: 1) else { return }
        // Edge-triggered, since unread bytes would end a level-triggered wait immediately.
        guard (try? poller.add(descriptor, token: 0, for: .read, trigger: .edge)) != nil else { return }
        var events: [PollEvent] = []
        while (try? poller.wait(into: &events)) != nil {
            if events.contains(where: \.isPeerClosed) { return }
        }
    }
}

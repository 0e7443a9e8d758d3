import UnixIO

/// A socket that one thread serves and another may cut off.
final class OpenSocket: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Ends both directions, which wakes whoever waits for it.
    func cut() {
        try? descriptor.shutdownBoth()
    }

    /// Waits until the peer has gone, or was cut off, and reads nothing.
    func waitForEnd() {
        guard let poller = try? Poller(capacity: 1) else { return }
        // By edges, since unread bytes would end every wait at once.
        guard (try? poller.add(descriptor, token: 0, for: .read, trigger: .edge)) != nil else { return }
        var events: [PollEvent] = []
        while (try? poller.wait(into: &events)) != nil {
            if events.contains(where: \.isPeerClosed) { return }
        }
    }
}

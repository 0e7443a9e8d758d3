import UnixIO

extension SocketLoop {
    /// Takes connections from another socket, since the path of the old one leads nowhere.
    func change(to new: Listener) {
        guard !isStopping else { return }
        // Whoever had come to the old one before is not turned away.
        accept()
        try? poller.remove(listener.descriptor)
        listener = new
        do throws(Errno) {
            try poller.add(listener.descriptor, token: Self.listenerToken, for: [.read])
        } catch {
            service.log.error("The new socket can't be served", ["error": "\(error)"])
        }
    }
}

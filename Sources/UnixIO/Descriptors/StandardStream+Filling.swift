extension StandardStream {
    /// Puts an empty file where the process was started without standard input, output or error, so that nothing that
    /// is opened later is taken for one of them. Only before anything else is opened.
    package static func fillClosed() {
        while let filler = try? FileDescriptor.open("/dev/null") {
            guard filler.rawValue <= error.rawValue else { return }
            _ = filler.release()
        }
    }
}

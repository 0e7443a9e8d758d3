import UnixIO

/// Nobody connected within a time that is long for any machine.
struct NobodyCame: Error {}

/// Waits for a connection; for tests that know that one is coming.
func accept(_ listener: borrowing FileDescriptor) throws -> FileDescriptor {
    guard try Readiness.wait(listener, for: .read, timeout: .seconds(10)), let connection = try listener.accept()
    else { throw NobodyCame() }
    return connection
}

/// Whether a connection is waiting, which is accepted then.
func hasConnection(_ listener: borrowing FileDescriptor) throws -> Bool {
    guard let connection = try listener.accept() else { return false }
    try connection.close()
    return true
}

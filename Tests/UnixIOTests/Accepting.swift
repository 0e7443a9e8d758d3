import UnixIO

/// No connection arrived within a minute, which is long for any machine.
struct NoConnection: Error {}

/// Waits for a connection that the test expects.
func accept(_ listener: borrowing FileDescriptor) throws -> FileDescriptor {
    guard try Readiness.wait(listener, for: .read, timeout: .seconds(60)), let connection = try listener.accept()
    else { throw NoConnection() }
    return connection
}

/// Accepts and closes a waiting connection. Returns `false` if none is waiting.
func hasConnection(_ listener: borrowing FileDescriptor) throws -> Bool {
    guard let connection = try listener.accept() else { return false }
    try connection.close()
    return true
}

import UnixIO

/// The socket on which connections arrive.
final class Listener: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

package import UnixIO

/// An open file that the daemon has passed along with a reply.
///
/// It is whatever the other side has opened: look at its status before it is read.
package final class PassedFile: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}

import IssueProtocol
import UnixIO

/// The append-only file of all that happened, one JSON object a line.
struct LedgerFile: ~Copyable, Sendable {
    private let file: FileDescriptor

    init(_ path: String) throws(Errno) {
        file = try .open(path, [.writeOnly, .append, .create])
    }

    /// Writes a line at once, so that it is there when the answer is.
    borrowing func append(_ write: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        write(&writer)
        writer.endText(with: 0x0A)
        // A full disk costs the copy, not the listener: memory holds it all.
        try? file.writeAll(writer.bytes)
    }
}

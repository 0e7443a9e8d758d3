import IssueProtocol
import UnixIO

/// An append-only file of all events, with one JSON object per line.
struct LedgerFile: ~Copyable, Sendable {
    private let file: FileDescriptor

    init(_ path: String) throws(Errno) {
        file = try .open(path, [.writeOnly, .append, .create])
    }

    /// Writes a line immediately, so that it exists before the response is sent.
    borrowing func append(_ write: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        write(&writer)
        writer.endText(with: 0x0A)
        // If the disk is full, only this copy is lost: everything is also in memory.
        try? file.writeAll(writer.bytes)
    }
}

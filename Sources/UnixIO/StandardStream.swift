import CLinux
import Glibc

/// The three descriptors that every process starts with and nobody closes.
package enum StandardStream: CInt, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// Whether a person is on the other end.
    package var isTerminal: Bool {
        isatty(rawValue) == 1
    }

    /// Whether a person is on the other end, and may be asked: the terminal is ours at the moment.
    package var isForegroundTerminal: Bool {
        isTerminal && tcgetpgrp(rawValue) == getpgrp()
    }

    /// The width of the terminal, if it is one and knows its width.
    package var columns: Int? {
        let columns = clinux_terminal_columns(rawValue)
        return columns > 0 ? Int(columns) : nil
    }

    /// A descriptor of one's own for the same stream.
    package func duplicate() throws(Errno) -> FileDescriptor {
        let copy = try retrying { clinux_duplicate(rawValue) }
        return FileDescriptor(owning: copy)
    }

    /// Writes everything, waiting where the stream is full.
    package func writeAll(_ bytes: [UInt8]) throws(Errno) {
        // The borrowed number must not be closed, so it is released again.
        let descriptor = FileDescriptor(owning: rawValue)
        do throws(Errno) {
            try descriptor.writeAll(bytes)
        } catch {
            _ = descriptor.release()
            throw error
        }
        _ = descriptor.release()
    }

    package func writeAll(_ text: String) throws(Errno) {
        try writeAll(Array(text.utf8))
    }
}

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

extension StandardStream {
    /// The height of the terminal, if it is one and knows its height.
    package var rows: Int? {
        let rows = clinux_terminal_rows(rawValue)
        return rows > 0 ? Int(rows) : nil
    }
}

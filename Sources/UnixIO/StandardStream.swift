import CLinux
import Glibc

/// The standard streams, whose descriptors are never closed.
package enum StandardStream: CInt, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// `true` if the stream is a terminal.
    package var isTerminal: Bool {
        isatty(rawValue) == 1
    }

    /// `true` if the stream is a terminal and this process is in its foreground, so that the user can be asked.
    package var isForegroundTerminal: Bool {
        isTerminal && tcgetpgrp(rawValue) == getpgrp()
    }

    /// The width of the terminal in columns; nil if it is not a terminal or the width is unknown.
    package var columns: Int? {
        let columns = clinux_terminal_columns(rawValue)
        return columns > 0 ? Int(columns) : nil
    }

    /// Returns a new descriptor for the same stream.
    package func duplicate() throws(Errno) -> FileDescriptor {
        let copy = try retrying { clinux_duplicate(rawValue) }
        return FileDescriptor(owning: copy)
    }

    /// Writes all bytes. Waits whenever the stream would block.
    package func writeAll(_ bytes: [UInt8]) throws(Errno) {
        // The descriptor is only borrowed, so it must be released instead of closed.
        let descriptor = FileDescriptor(owning: rawValue)
        do throws(Errno) {
            try descriptor.writeAll(bytes)
        } catch {
            _ = descriptor.release()
            throw error
        }
        _ = descriptor.release()
    }

    /// Writes a text as UTF-8. Waits whenever the stream would block.
    package func writeAll(_ text: String) throws(Errno) {
        try writeAll(Array(text.utf8))
    }
}

extension StandardStream {
    /// Opens `/dev/null` for each standard stream that was closed when the process started. Otherwise a file opened
    /// later could become one of them. Must be called before any file is opened.
    package static func fillClosed() {
        while let filler = try? FileDescriptor.open("/dev/null") {
            guard filler.rawValue <= error.rawValue else { return }
            _ = filler.release()
        }
    }
}

extension StandardStream {
    /// The height of the terminal in rows; nil if it is not a terminal or the height is unknown.
    package var rows: Int? {
        let rows = clinux_terminal_rows(rawValue)
        return rows > 0 ? Int(rows) : nil
    }
}

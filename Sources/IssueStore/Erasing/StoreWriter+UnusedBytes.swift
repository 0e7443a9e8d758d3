import SQLiteKit

/// The end of an erasing: the file is rid of what it holds beside its content.
///
/// Deleted rows may stand in free pages, in unused parts of pages, and in the log, also those that retention
/// deleted and those that SQLite has moved since. One pass goes over the whole file in small steps. Pages that were
/// written meanwhile may have brought something back to where the pass had been; they are known from the log,
/// and have their turn at the end.
extension StoreWriter {
    /// How far a pass is.
    package struct UnusedBytesPass: Sendable {
        /// What a step has come to.
        package enum Step: Equatable, Sendable {
            case more
            /// Somebody reads, so that the log can't be copied or begun anew: try again later.
            case waiting
            case done
        }

        var next: UInt32 = 1
        var left: Set<UInt32> = []
        /// How many pages could not be understood, and may hold something.
        package var unread = 0

        package init() {}
    }

    /// How many pages one step looks at: 4 MiB, and more of those that were written meanwhile, so that there is an end.
    private static let unusedPagesAtATime: UInt32 = 512
    private static let writtenPagesAtATime = 4096

    /// Notes from now on which pages are written.
    package func beginErasingUnusedBytes() {
        connection.pagesCheckpointed = []
    }

    package func endErasingUnusedBytes() {
        connection.pagesCheckpointed = nil
    }

    /// Takes one step of a pass over the file.
    package func eraseUnusedBytes(_ pass: inout UnusedBytesPass) throws(StoreFailure) -> UnusedBytesPass.Step {
        do {
            let isEmpty = try emptyLog()
            pass.left.formUnion(connection.pagesCheckpointed ?? [])
            connection.pagesCheckpointed = []
            guard try isEmpty || isLogCopied() else { return .waiting }
            let isAtEnd = Int64(pass.next) > (try connection.pages)
            // At the end nothing may be left in the log that would be read again.
            guard !isAtEnd || isEmpty else { return .waiting }
            let pages =
                isAtEnd
                ? Array(pass.left.prefix(Self.writtenPagesAtATime))
                : Array(pass.next..<pass.next + Self.unusedPagesAtATime)
            guard let result = try connection.eraseUnusedBytes(of: pages) else { return .waiting }
            pass.unread += result.unread
            guard isAtEnd else {
                pass.next += Self.unusedPagesAtATime
                return .more
            }
            pass.left.subtract(pages)
            guard pass.left.isEmpty else { return .more }
            try connection.synchronizeFile()
            return .done
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            pass.unread += 1
            return .done
        }
    }

    /// Copies the log and makes its file empty, if nobody reads from it.
    private func emptyLog() throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            try withLittlePatience { () throws(SQLiteError) in _ = try connection.checkpoint(.truncate) }
            return true
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }

    private func isLogCopied() throws(SQLiteError) -> Bool {
        let result = try connection.checkpoint(.passive)
        return result.framesInLog == result.framesCheckpointed
    }
}

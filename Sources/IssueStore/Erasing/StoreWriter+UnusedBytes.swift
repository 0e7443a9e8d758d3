import SQLiteKit

/// The last phase of an erasure: overwrites what deleted rows have left in the file.
///
/// Deleted rows may remain in free pages, in unused parts of pages, and in the WAL. This includes rows that retention
/// deleted or that SQLite has moved. One pass covers the whole file in small steps. Pages written during the pass may
/// bring deleted content back, so the pages seen in the WAL are overwritten again at the end.
extension StoreWriter {
    /// The progress of a pass.
    package struct UnusedBytesPass: Sendable {
        /// The result of a step.
        package enum Step: Equatable, Sendable {
            case more
            /// A reader prevents the WAL from being checkpointed or restarted. Try again later.
            case waiting
            case done
        }

        /// The next page to overwrite.
        var next: UInt32 = 1
        /// Pages written during the pass, which must be overwritten again.
        var left: Set<UInt32> = []
        /// The number of pages that could not be parsed and may still contain deleted rows.
        package var unread = 0

        package init() {}
    }

    /// The number of pages per step (4 MiB). Pages written during the pass are handled in larger steps, so that the
    /// pass ends.
    private static let unusedPagesPerStep: UInt32 = 512
    private static let writtenPagesPerStep = 4096

    /// Starts collecting the numbers of written pages.
    package func beginErasingUnusedBytes() {
        connection.pagesCheckpointed = []
    }

    /// Stops collecting the numbers of written pages.
    package func endErasingUnusedBytes() {
        connection.pagesCheckpointed = nil
    }

    /// Performs one step of a pass over the file.
    ///
    /// - Throws: `StoreFailure` if reading or writing fails.
    package func eraseUnusedBytes(_ pass: inout UnusedBytesPass) throws(StoreFailure) -> UnusedBytesPass.Step {
        do {
            let isEmpty = try truncateWAL()
            pass.left.formUnion(connection.pagesCheckpointed ?? [])
            connection.pagesCheckpointed = []
            guard try isEmpty || isWALCheckpointed() else { return .waiting }
            let isAtEnd = Int64(pass.next) > (try connection.pages)
            // At the end the WAL must be empty, because its frames may contain deleted rows.
            guard !isAtEnd || isEmpty else { return .waiting }
            let pages =
                isAtEnd
                ? Array(pass.left.prefix(Self.writtenPagesPerStep))
                : Array(pass.next..<pass.next + Self.unusedPagesPerStep)
            guard let result = try connection.eraseUnusedBytes(of: pages) else { return .waiting }
            pass.unread += result.unread
            guard isAtEnd else {
                pass.next += Self.unusedPagesPerStep
                return .more
            }
            pass.left.subtract(pages)
            guard pass.left.isEmpty else { return .more }
            try connection.synchronizeFiles()
            return .done
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            pass.unread += 1
            return .done
        }
    }

    /// Checkpoints and truncates the WAL. Returns `false` if a reader prevents that.
    private func truncateWAL() throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            try withShortTimeout { () throws(SQLiteError) in _ = try connection.checkpoint(.truncate) }
            return true
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }

    private func isWALCheckpointed() throws(SQLiteError) -> Bool {
        let result = try connection.checkpoint(.passive)
        return result.framesInLog == result.framesCheckpointed
    }
}

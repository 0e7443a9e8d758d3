internal import CSQLite

/// How far a checkpoint goes for the sake of a short log.
package enum CheckpointMode: Sendable {
    /// Copies what no reader needs, and waits for nobody.
    case passive
    /// Waits for readers and writers, copies everything and empties the log's file.
    case truncate

    var rawValue: CInt {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

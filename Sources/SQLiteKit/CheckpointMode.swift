internal import CSQLite

/// How far a checkpoint goes for the sake of a short log.
package enum CheckpointMode: Sendable {
    /// Copies what no reader needs, and waits for nobody.
    case passive
    /// Copies everything, and waits for readers and writers so that the next commit begins the log anew.
    case restart
    /// Waits for readers and writers, copies everything and empties the log's file.
    case truncate

    var rawValue: CInt {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .restart: SQLITE_CHECKPOINT_RESTART
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

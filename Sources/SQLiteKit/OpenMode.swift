internal import CSQLite

/// What a connection may do with its file.
package enum OpenMode: Sendable {
    case readWriteCreate
    case readOnly

    var flags: CInt {
        switch self {
        case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }
}

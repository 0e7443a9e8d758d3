package import UnixIO

/// Why a file gives no token. Says nothing of what is in it.
package enum TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(Errno)
    case notAFile
    case othersMayRead(mode: UInt32)
    case ownedByAnother(uid: UInt32)
    case tooLarge
    case empty
    case noToken
    case notPassed

    package var description: String {
        switch self {
        case .unreadable(let error):
            "it cannot be read: \(error)"
        case .notAFile:
            "it is not a regular file"
        case .othersMayRead(let mode):
            "others than its owner may use it (mode \(ValueForm<UInt32>.mode.text(mode))); expected 0600 or 0400"
        case .ownedByAnother(let uid):
            "it belongs to user \(uid); expected the daemon's own user, or root"
        case .tooLarge:
            "it is too long for a token"
        case .empty:
            "it is empty"
        case .noToken:
            "it holds more than a token: blanks, control characters or several lines"
        case .notPassed:
            "systemd did not pass it"
        }
    }
}

import Glibc

/// How a file is to be opened. It is closed on exec in any case.
package struct OpenFlags: OptionSet, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// A name for the file alone: it can be looked at and into, not read.
    package static let pathOnly = OpenFlags(rawValue: 0o10_000_000)
    package static let readOnly: OpenFlags = []
    package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
    package static let readWrite = OpenFlags(rawValue: O_RDWR)
    package static let append = OpenFlags(rawValue: O_APPEND)
    package static let create = OpenFlags(rawValue: O_CREAT)
    package static let directory = OpenFlags(rawValue: O_DIRECTORY)
    package static let exclusive = OpenFlags(rawValue: O_EXCL)
    package static let noFollow = OpenFlags(rawValue: O_NOFOLLOW)
    package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
    package static let truncate = OpenFlags(rawValue: O_TRUNC)
}

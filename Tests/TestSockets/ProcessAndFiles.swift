import Glibc
package import UnixIO

extension FileSystem {
    /// Changes the owner and group of a file; nil leaves that part unchanged.
    package static func setOwner(_ user: UInt32?, group: UInt32?, of path: String) throws(Errno) {
        guard unsafe chown(path, user ?? .max, group ?? .max) == 0 else { throw .current }
    }
}

extension ProcessEnvironment {
    /// Sets a variable. Must be called before other threads exist.
    package static func set(_ name: String, to value: String) throws(Errno) {
        guard unsafe setenv(name, value, 1) == 0 else { throw .current }
    }
}

import Glibc

/// The environment variables of this process.
///
/// Reading while another thread changes them is not safe in C, so only what
/// runs before any thread is started may change them.
package enum Environment {
    package static subscript(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    package static func set(_ name: String, to value: String) throws(Errno) {
        try calling { unsafe setenv(name, value, 1) }
    }

    package static func remove(_ name: String) throws(Errno) {
        try calling { unsafe unsetenv(name) }
    }
}

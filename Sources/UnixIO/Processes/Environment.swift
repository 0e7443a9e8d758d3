import CLinux
import Glibc

/// The environment variables of this process.
///
/// In a program that has more rights than its caller (setuid, setgid or file
/// capabilities) there are none: the environment is the caller's, and must not
/// decide what those rights are used for.
///
/// Reading while another thread changes them is not safe in C, so only what
/// runs before any thread is started may change them.
package enum Environment {
    package static subscript(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_variable(name) else { return nil }
        return unsafe String(cString: value)
    }

    package static func set(_ name: String, to value: String) throws(Errno) {
        try calling { unsafe setenv(name, value, 1) }
    }

    package static func remove(_ name: String) throws(Errno) {
        try calling { unsafe unsetenv(name) }
    }
}

import CLinux
import Glibc

/// An error number of the kernel.
package struct Errno: RawRepresentable, Error, Hashable, Sendable {
    package var rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// The error of the last failed call on this thread.
    package static var current: Errno {
        Errno(rawValue: Glibc.errno)
    }

    /// The symbolic name, such as `ENOENT`; `E` and the number if there is none.
    package var name: String {
        guard let name = unsafe clinux_error_name(rawValue) else { return "E\(rawValue)" }
        return unsafe String(cString: name)
    }
}

extension Errno: CustomStringConvertible {
    package var description: String {
        guard let text = unsafe clinux_error_text(rawValue) else { return "Unknown error \(rawValue)" }
        return unsafe "\(String(cString: text)) (\(name))"
    }
}

extension Errno {
    package static let accessDenied = Errno(rawValue: EACCES)
    package static let addressInUse = Errno(rawValue: EADDRINUSE)
    package static let alreadyExists = Errno(rawValue: EEXIST)
    package static let brokenPipe = Errno(rawValue: EPIPE)
    package static let connectionAborted = Errno(rawValue: ECONNABORTED)
    package static let connectionRefused = Errno(rawValue: ECONNREFUSED)
    package static let connectionReset = Errno(rawValue: ECONNRESET)
    package static let deviceFull = Errno(rawValue: ENOSPC)
    package static let fileTooLarge = Errno(rawValue: EFBIG)
    package static let inputOutput = Errno(rawValue: EIO)
    package static let interrupted = Errno(rawValue: EINTR)
    package static let invalidArgument = Errno(rawValue: EINVAL)
    package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
    package static let noSuchFile = Errno(rawValue: ENOENT)
    package static let readOnlyFileSystem = Errno(rawValue: EROFS)
    package static let notDirectory = Errno(rawValue: ENOTDIR)
    package static let notPermitted = Errno(rawValue: EPERM)
    package static let notSocket = Errno(rawValue: ENOTSOCK)
    package static let notSupported = Errno(rawValue: ENOTSUP)
    package static let protocolOptionMissing = Errno(rawValue: ENOPROTOOPT)
    package static let timedOut = Errno(rawValue: ETIMEDOUT)
    package static let tooManyFiles = Errno(rawValue: EMFILE)
    package static let tooManyFilesInSystem = Errno(rawValue: ENFILE)
    package static let tooManyLinks = Errno(rawValue: ELOOP)
    package static let wouldBlock = Errno(rawValue: EAGAIN)
}

/// Repeats a system call as long as it fails with EINTR.
@inline(__always)
@discardableResult
func retrying<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
        let result = call()
        guard result < 0 else { return result }
        let error = Errno.current
        guard error == .interrupted else { throw error }
    }
}

/// Makes a system call once. For calls that cannot fail with EINTR or whose callers handle EINTR.
@inline(__always)
@discardableResult
func calling<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    let result = call()
    guard result < 0 else { return result }
    throw .current
}

/// Unpredictable random numbers from the kernel.
package enum Randomness {
    /// Returns a random number. Traps if the kernel provides none.
    package static func uint64() -> UInt64 {
        var number: UInt64 = 0
        let read = try? retrying { unsafe clinux_random(&number, 8) }
        // The call fails only if it is forbidden. Predictable identifiers would be worse than a crash.
        precondition(read == 8, "The kernel returned no random bytes")
        return number
    }
}

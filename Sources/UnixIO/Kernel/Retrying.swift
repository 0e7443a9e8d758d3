/// Calls into the kernel until it answers something other than EINTR.
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

/// Calls into the kernel once, where EINTR cannot come or must be seen.
@inline(__always)
@discardableResult
func calling<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    let result = call()
    guard result < 0 else { return result }
    throw .current
}

import Glibc

extension CurrentProcess {
    /// Takes rights away from all files that this process makes from now on; see umask(2).
    ///
    /// Only before there are other threads, which share it.
    package static func setFileMask(_ mask: UInt32) {
        _ = umask(mask)
    }
}

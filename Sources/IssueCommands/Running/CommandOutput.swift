/// Where a command writes; tests collect what comes.
package protocol CommandOutput: AnyObject {
    /// Writes to standard output and says whether somebody still reads it.
    func write(_ bytes: [UInt8]) -> Bool

    /// Writes to standard error, as far as that is possible.
    func writeError(_ bytes: [UInt8])
}

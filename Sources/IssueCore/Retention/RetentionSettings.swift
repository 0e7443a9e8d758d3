/// How much of the log is kept, and how long.
package struct RetentionSettings: Hashable, Sendable {
    /// In bytes, as all sizes here.
    package var maxSize: Int64
    package var maxAge: Duration
    /// What stays free on the file system.
    package var keepFree: Int64

    package init(
        maxSize: Int64 = 1 << 30, maxAge: Duration = .seconds(30 * 86_400), keepFree: Int64 = 256 << 20
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.keepFree = keepFree
    }
}

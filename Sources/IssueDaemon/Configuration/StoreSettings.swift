package import IssueCore

/// Where records are kept, how many and how long (`[Store]`).
package struct StoreSettings: Hashable, Sendable {
    package var path = "/var/lib/issued/issues.db"
    /// In bytes, as all sizes here.
    package var maxSize: Int64 = 1 << 30
    package var maxAge: Duration = .seconds(30 * 86_400)
    package var keepFree: Int64 = 256 << 20

    package init() {}

    /// The same in the words of the store.
    package var retention: RetentionSettings {
        RetentionSettings(maxSize: maxSize, maxAge: maxAge, keepFree: keepFree)
    }
}

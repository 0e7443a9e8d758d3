/// What a line may be, with room left below what Logz.io documents.
enum LineLimits {
    /// 500,000 bytes are refused, and a line is not to depend on how they are counted.
    static let lineBytes = 450_000
    /// What is longer than this is not indexed; bytes, as a term of the index is measured in them.
    static let textBytes = 32_700
    /// How much is left of a text that is longer.
    static let cutTextBytes = 32_000
    /// Objects and arrays within each other, the line itself being the first.
    static let depth = 10
    /// Members of the sender's own within the metadata; a line may have 1,000 in all.
    static let metadataFields = 600
    static let causes = 100
    /// Names of cut fields; beyond that, the object in which they stand is named.
    static let truncatedNames = 50
    static let keyBytes = 256
}

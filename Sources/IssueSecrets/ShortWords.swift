/// A set of strings of at most eight bytes that have a meaning for a reader.
///
/// A word is an integer with the last letter in the lowest byte. Letters are in lower case. Public so that `IssueCore`
/// inlines it.
public struct ShortWords: Sendable {
    @usableFromInline let words: [UInt64]
    /// A bit for each string, which quickly rules out others.
    @usableFromInline let filter: UInt64

    package init(_ words: [String]) {
        self.words = words.map { $0.utf8.reduce(0) { $0 << 8 | UInt64($1) } }
        filter = self.words.reduce(0) { $0 | Self.bit($1) }
    }

    @inlinable @inline(__always)
    static func bit(_ word: UInt64) -> UInt64 { 1 << ((word &* 0x9E37_79B9_7F4A_7C15) >> 58) }

    /// Returns `true` if the list has a word.
    @inlinable @inline(__always)
    public func contains(_ word: UInt64) -> Bool { filter & Self.bit(word) != 0 && words.contains(word) }
}

extension ShortWords {
    /// Values that mean that there is none, or that it was removed.
    static let noValues = ShortWords([
        "null", "nil", "none", "true", "false", "empty", "unset", "missing", "redacted", "filtered", "masked", "hidden",
        "removed", "omitted", "yes", "no", "unknown", "undef",
    ])
    /// Strings after a colon that continue a sentence, as in "password: must not be empty".
    static let sentenceWords = ShortWords([
        "a", "an", "the", "is", "was", "are", "were", "has", "had", "must", "not", "too", "can", "cannot", "should",
        "may", "for", "of", "in", "on", "at", "to", "from", "with", "and", "or", "it", "your", "this", "that", "field",
        "required", "invalid", "expired", "wrong", "denied", "failed", "rejected", "accepted", "changed", "updated",
        "reset", "ok", "please", "optional", "expected", "minimum", "maximum", "length", "does", "did", "only",
        "could", "no", "user", "users", "error", "mismatch", "contains", "rotated", "blocked", "revoked", "created",
        "deleted", "stored", "loaded", "found", "set", "sent", "used", "valid", "weak", "strong", "ignored", "refresh",
    ])
    /// Endings after an at sign that are not those of mailbox addresses.
    static let unitEndings = ShortWords([
        "service", "socket", "timer", "mount", "target", "slice", "scope", "path", "device", "swap", "png", "jpg",
        "jpeg",
        "gif", "svg", "webp",
    ])
    /// The schemes of an authorization header.
    static let authorizationSchemes = ShortWords([
        "basic", "bearer", "digest", "token", "apikey", "key", "hmac", "ntlm", "oauth", "hawk", "splunk",
    ])
}

package import IssueProtocol

/// The bounds of one question, checked before it reaches the database.
///
/// A filter within these bounds costs work that is linear in the number of
/// series, however it is composed. SQLite's full-text search takes time
/// quadratic in the number of words, so their number must be bounded in any case.
package enum QueryLimits {
    /// Words in `text`.
    package static let maxWords = 16
    /// Tokens in `text`: what the full-text index makes of words at their punctuation, as of `a.b/c`.
    package static let maxTokens = 64
    /// Bytes of UTF-8 in `text`.
    package static let maxTextBytes = 1024
    /// Entries in each list of a filter, and in a list of record ids.
    package static let maxListEntries = 256
    /// Buckets of one group's sparkline.
    package static let maxSparklineBuckets = 1000
    /// Buckets of all sparklines of one reply.
    package static let maxSparklineNumbers = 100_000

    /// A part of a question that is above its bound.
    package struct Excess: Error, Equatable, Sendable {
        /// The member of the filter, or the parameter.
        package var field: String
        /// Names the limit, and what was asked for.
        package var reason: String

        package init(field: String, reason: String) {
            self.field = field
            self.reason = reason
        }
    }

    /// Throws if a part of the filter is above its bound.
    package static func check(_ filter: IssueFilter) throws(Excess) {
        try check("apps", count: filter.apps?.count)
        try check("versions", count: filter.versions?.count)
        try check("environments", count: filter.environments?.count)
        try check("domains", count: filter.domains?.count)
        try check("codes", count: filter.codes?.count)
        try check("files", count: filter.files?.count)
        try check("groups", count: filter.groups?.count)
        try check("users", count: filter.users?.count)
        try check("units", count: filter.units?.count)
        try check("states", count: filter.states?.count)
        try check("fates", count: filter.fates?.count)
        guard let text = filter.text else { return }
        let bytes = text.utf8.count
        guard bytes <= maxTextBytes else {
            throw Excess(field: "text", reason: "at most \(maxTextBytes) bytes are searched for, not \(bytes)")
        }
        let words = words(of: text).count
        guard words <= maxWords else {
            throw Excess(field: "text", reason: "at most \(maxWords) words are searched for, not \(words)")
        }
        let tokens = tokenCount(in: text)
        guard tokens <= maxTokens else {
            throw Excess(
                field: "text",
                reason: "at most \(maxTokens) words are searched for, those between punctuation included, not \(tokens)"
            )
        }
    }

    /// Throws if a list has too many entries. An absent list has none.
    package static func check(_ field: String, count: Int?) throws(Excess) {
        guard let count, count > maxListEntries else { return }
        throw Excess(field: field, reason: "at most \(maxListEntries) entries are taken, not \(count)")
    }

    /// Throws if a list of groups asks for too many numbers.
    package static func check(sparkline buckets: Int, groups: Int) throws(Excess) {
        guard buckets <= maxSparklineBuckets else {
            throw Excess(
                field: "sparkline", reason: "at most \(maxSparklineBuckets) buckets are counted, not \(buckets)")
        }
        guard buckets * groups <= maxSparklineNumbers else {
            throw Excess(
                field: "sparkline",
                reason: "at most \(maxSparklineNumbers / groups) buckets are counted for each of \(groups) groups")
        }
    }

    /// Returns the words of a search text, which white space and control characters separate.
    package static func words(of text: String) -> [Substring.UnicodeScalarView] {
        text.unicodeScalars.split { $0.value <= 0x20 }.map { $0 }
    }

    /// Returns how many runs of letters, digits and non-ASCII bytes a text has.
    ///
    /// The index may split non-ASCII text further, but each split takes two
    /// bytes or more, so `maxTextBytes` bounds that.
    private static func tokenCount(in text: String) -> Int {
        var count = 0
        var isInToken = false
        for byte in text.utf8 {
            let isPart =
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
                    true
                default: false
                }
            if isPart, !isInToken { count += 1 }
            isInToken = isPart
        }
        return count
    }
}

public import IssueWire

/// A change that a user has made to the grouping. It also applies to future records.
public struct GroupCorrection: Equatable, Sendable {
    /// The maximum size of a reason, in bytes.
    package static let maxReasonBytes = 1024

    /// The kind of a correction.
    public enum Kind: String, CaseIterable, Sendable {
        /// `other` was merged into `group`.
        case merge
        /// Some records of `other` belong to `group`: with a `field`, the records in which that field equals
        /// `template`; otherwise, the records whose titles match `template`.
        case split
        /// All the application's groups whose titles match `template`, existing and new, are merged into `group`.
        case rule
    }

    /// The number of the correction, with which it can be undone.
    public var id: Int64
    /// The kind of the correction.
    public var kind: Kind
    /// The id of the group that gets the records.
    public var group: String
    /// The id of the group that the records belong to without the correction; nil for a rule.
    public var other: String?
    /// The name of the application.
    public var app: String
    /// The id of the user of the application.
    public var user: UInt32
    /// The pattern for titles, or the value of `field`; nil for a merge.
    public var template: String?
    /// The field whose value is `template`; nil for a merge, and if `template` is a pattern for titles.
    public var field: IssueSplitField?
    /// The id of the user who made the correction.
    public var author: UInt32
    /// The time at which the correction was made.
    public var timestamp: IssueTimestamp
    /// The reason that its author gave. Nil if there is none.
    public var reason: String?
    /// The number of new series to which it has applied since it was made. Series that existed before are not counted.
    public var hits: Int64

    package init(
        id: Int64, kind: Kind, group: String, other: String? = nil, app: String = "", user: UInt32 = 0,
        template: String? = nil, field: IssueSplitField? = nil, author: UInt32 = 0, timestamp: IssueTimestamp = .epoch,
        reason: String? = nil, hits: Int64 = 0
    ) {
        self.id = id
        self.kind = kind
        self.group = group
        self.other = other
        self.app = app
        self.user = user
        self.template = template
        self.field = field
        self.author = author
        self.timestamp = timestamp
        self.reason = reason
        self.hits = hits
    }
}

extension GroupCorrection.Kind: JSONStringEnum {}

extension GroupCorrection: JSONObjectCodable {
    package static var initial: Self { Self(id: 0, kind: .merge, group: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("kind", &kind)
        try members.required("group", &group)
        try members.optional("other", &other)
        try members.required("app", &app)
        try members.required("uid", &user)
        try members.optional("template", &template)
        try members.optional("field", &field)
        try members.required("author", &author)
        try members.required("at", &timestamp)
        try members.optional("reason", &reason)
        try members.required("hits", &hits)
    }
}

/// A field that a group can be split by (`SplitField` on the wire).
///
/// All records of a series share these fields. Metadata and the type of an error belong to single records, so a group
/// can't be split by them.
public enum IssueSplitField: String, CaseIterable, Sendable {
    /// The title: the message without its variable parts.
    case title
    /// The domain of the error.
    case domain
    /// The code of the error.
    case code
    /// The source file.
    case file
    /// The function.
    case function
    /// The module.
    case module
    /// The version of the application.
    case version
    /// The environment of the application, such as `production`.
    case environment
    /// The platform of the application.
    case platform
    /// The level.
    case level = "severity"
}

extension IssueSplitField: JSONStringEnum {}

/// A pattern for titles of groups, in which `*` matches any text, including none.
package struct TitlePattern: Equatable, Sendable {
    /// The maximum length of a pattern, in bytes of UTF-8.
    package static let maxBytes = 200

    package let text: String
    /// The text before the first star, and the text after the last one. Without a star, `start` is the whole pattern.
    private let start: [UInt8]
    private let end: [UInt8]
    /// The texts between stars.
    private let middle: [SubstringSearch]
    private let hasStar: Bool

    /// Creates a pattern. Returns nil if the text is too long, is empty or consists only of stars, or if it begins with
    /// U+0001, with which the stored form of a split by a field begins.
    package init?(_ text: String) {
        let star = UInt8(ascii: "*")
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maxBytes, bytes.contains(where: { $0 != star }), bytes.first != 1 else { return nil }
        self.text = text
        let parts = bytes.split(separator: star, omittingEmptySubsequences: false).map(Array.init)
        hasStar = parts.count > 1
        start = parts[0]
        end = hasStar ? parts[parts.count - 1] : []
        middle = parts.dropFirst().dropLast().filter { !$0.isEmpty }.map { SubstringSearch($0) }
    }

    /// Returns `true` if the whole title matches.
    ///
    /// This must be fast, because the writer may match each new series against all rules of its application and all
    /// splits of its group. For every pattern, the time is linear in the length of the title.
    package func matches(_ title: String) -> Bool {
        var work = 0
        return matches(title, work: &work)
    }

    /// Returns `true` if the whole title matches. Adds the number of steps, or an upper bound of it, to `work`.
    package func matches(_ title: String, work: inout Int) -> Bool {
        let title = Array(title.utf8)
        work += start.count + end.count
        guard title.starts(with: start) else { return false }
        guard hasStar else { return title.count == start.count }
        var rest = title[start.count...]
        guard rest.count >= end.count, rest.suffix(end.count).elementsEqual(end) else { return false }
        rest = rest.dropLast(end.count)
        for search in middle {
            guard let found = search.firstEnd(in: rest, work: &work) else { return false }
            rest = rest[found...]
        }
        return true
    }
}

/// Finds a text within another one in linear time (Knuth, Morris and Pratt).
private struct SubstringSearch: Equatable, Sendable {
    private let text: [UInt8]
    /// For each position, the length of the longest proper prefix of `text` that is also a suffix of the bytes up to
    /// and including that position.
    private let borders: [UInt8]

    /// Creates a search.
    ///
    /// - Parameter text: The text to find; not empty, and at most as long as a pattern.
    init(_ text: [UInt8]) {
        self.text = text
        var borders = [UInt8](repeating: 0, count: text.count)
        var length = 0
        for index in text.indices.dropFirst() {
            while length > 0, text[index] != text[length] { length = Int(borders[length - 1]) }
            if text[index] == text[length] { length += 1 }
            borders[index] = UInt8(length)
        }
        self.borders = borders
    }

    /// Returns the index after the first occurrence; nil if there is none. Counts the steps in `work`.
    func firstEnd(in bytes: ArraySlice<UInt8>, work: inout Int) -> Int? {
        var length = 0
        for index in bytes.indices {
            work += 1
            while length > 0, bytes[index] != text[length] {
                length = Int(borders[length - 1])
                work += 1
            }
            if bytes[index] == text[length] { length += 1 }
            if length == text.count { return index + 1 }
        }
        return nil
    }
}

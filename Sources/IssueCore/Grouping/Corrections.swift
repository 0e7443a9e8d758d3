package import IssueProtocol

/// Selects the series that a split moves, by their titles or by the value of a field.
package enum SplitSelector: Equatable, Sendable {
    case title(TitlePattern)
    /// A value of more than 200 bytes matches no series, because `Fields` cuts values to this size.
    case field(IssueSplitField, value: String)

    /// The maximum size of a value, in bytes of UTF-8. The rest is cut off.
    private static let maxValueBytes = 200
    /// Separates the parts of the stored form. No pattern for titles begins with it.
    private static let separator: Character = "\u{1}"

    /// The fields of a series. Each field is read at most once, even if several selectors examine it.
    package struct Fields {
        private let series: SeriesDescription
        fileprivate let title: String
        private var values: [IssueSplitField: String] = [:]

        /// - Parameter title: The title that the series gives to its group.
        package init(_ series: SeriesDescription, title: String) {
            self.series = series
            self.title = title
        }

        /// The value of a field, cut to 200 bytes; empty if the series has none.
        package subscript(field: IssueSplitField) -> String {
            mutating get {
                if let known = values[field] { return known }
                let value = SplitSelector.value(of: field, in: series, title: title)
                values[field] = value
                return value
            }
        }
    }

    /// Returns `true` if the split moves this series.
    package func matches(_ fields: inout Fields) -> Bool {
        switch self {
        case .title(let pattern): pattern.matches(fields.title)
        case .field(let field, let value): fields[field] == value
        }
    }

    /// Returns `true` if the split moves this series.
    ///
    /// - Parameter title: The title that the series gives to its group.
    package func matches(_ series: SeriesDescription, title: String) -> Bool {
        var fields = Fields(series, title: title)
        return matches(&fields)
    }

    private static func value(of field: IssueSplitField, in series: SeriesDescription, title: String) -> String {
        let value: String? =
            switch field {
            case .title: title
            case .domain: series.domain
            case .code: series.code.map { String($0) }
            case .file: series.source.fileID
            case .function: series.source.function
            case .module: series.source.module
            case .version: ApplicationVersion(name: series.app.version, build: series.app.build).text
            case .environment: series.app.environment
            case .platform: series.app.platform
            case .level: series.severity.rawValue
            }
        return String((value ?? "").prefix(bytes: maxValueBytes))
    }

    /// Returns the fingerprint of the new group that this split creates. It is the same on every host.
    ///
    /// - Parameter fingerprint: The fingerprint of the group that is split.
    package func fingerprint(splitting fingerprint: String) -> String {
        let key: UInt64 =
            switch self {
            case .title: 4
            case .field: 5
            }
        var hash = SipHash(key0: key)
        hash.append(field: fingerprint)
        hash.append(field: stored)
        return String(hexadecimal: hash.finish(), width: 16)
    }

    // MARK: Storing

    /// The form in which the selector is stored: the pattern, or U+0001, the field, U+0001 and the value.
    package var stored: String {
        switch self {
        case .title(let pattern): pattern.text
        case .field(let field, let value): "\(Self.separator)\(field.rawValue)\(Self.separator)\(value)"
        }
    }

    /// Parses the stored form; nil if the text is not a stored selector.
    package init?(stored text: String) {
        guard text.first == Self.separator else {
            guard let pattern = TitlePattern(text) else { return nil }
            self = .title(pattern)
            return
        }
        let parts = text.dropFirst().split(separator: Self.separator, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let field = IssueSplitField(rawValue: String(parts[0])) else { return nil }
        self = .field(field, value: String(parts[1]))
    }
}

/// Finds groups that may be the same issue: those that have the same context and whose titles differ in one word.
package enum MergeSuggestions {
    /// A group with the attributes that are compared.
    package struct Candidate: Sendable {
        package var group: GroupID
        package var title: String
        /// The other attributes, as one text. It must be equal for both groups of a pair.
        package var context: String

        package init(group: GroupID, title: String, context: String) {
            self.group = group
            self.title = title
            self.context = context
        }
    }

    /// Two groups, and the words in which their titles differ, one from each title.
    package struct Pair: Equatable, Sendable {
        package var groups: [GroupID]
        package var words: [String]
    }

    /// The maximum number of words in a title. Longer titles are not compared.
    private static let maxWords = 40

    /// Returns pairs of groups with the same context whose titles differ in one word, ordered by the later candidate of
    /// each pair.
    ///
    /// The search keeps at most one table entry per word of each title. Titles of fewer than three words are left out,
    /// because too few of their words would be equal. A group is compared only with the first group that has the same
    /// words except one, so a thousand similar groups make about a thousand pairs, not half a million.
    ///
    /// - Parameter limit: The maximum number of pairs, at least 1.
    package static func pairs(among candidates: [Candidate], limit: Int) -> [Pair] {
        /// The first candidate for each title with one word omitted, and the index of that word. The key is a hash,
        /// because the texts themselves would take too much memory.
        var first: [UInt64: (candidate: Int32, omitted: Int32)] = [:]
        var pairs: [Pair] = []
        for (index, candidate) in candidates.enumerated() {
            let words = candidate.title.split(separator: " ")
            guard (3...maxWords).contains(words.count) else { continue }
            let hashes = words.map { hash($0) }
            let context = hash(candidate.context[...])
            for omitted in words.indices {
                var hash = SipHash(key0: 5)
                hash.append(context)
                for other in hashes.indices { hash.append(other == omitted ? 0 : hashes[other]) }
                let key = hash.finish()
                guard let known = first[key] else {
                    first[key] = (Int32(index), Int32(omitted))
                    continue
                }
                let other = candidates[Int(known.candidate)]
                let knownWords = other.title.split(separator: " ")
                guard Int(known.omitted) == omitted, other.context == candidate.context,
                    knownWords.count == words.count,
                    words.indices.allSatisfy({ (knownWords[$0] == words[$0]) == ($0 != omitted) })
                else { continue }
                pairs.append(
                    Pair(
                        groups: [other.group, candidate.group],
                        words: [String(knownWords[omitted]), String(words[omitted])]))
                if pairs.count == limit { return pairs }
            }
        }
        return pairs
    }

    private static func hash(_ text: Substring) -> UInt64 {
        var hash = SipHash(key0: 5)
        hash.append(field: String(text))
        return hash.finish()
    }
}

import IssueProtocol

/// The text of a search. It consists of terms, all of which must occur.
///
/// A term is a word or a phrase. Characters up to U+0020, such as spaces and line breaks, separate terms. A phrase is
/// enclosed in quotation marks and must occur with exactly its spaces. A quotation mark within a word, or without a
/// counterpart, is an ordinary character. An occurrence of a term may begin and end within a word of the searched text.
///
/// The search ignores case; see `LetterCase`.
package struct TextMatcher: Equatable, Sendable {
    /// The terms, without repetitions.
    package let terms: [TextTerm]

    /// Parses a search text.
    ///
    /// - Parameter text: The text, within `QueryLimits`.
    /// - Returns: Nil if the text contains no term. `QueryLimits` rejects such a text.
    package init?(_ text: String) {
        var terms: [TextTerm] = []
        for part in Self.parts(of: text) {
            let term = TextTerm(part)
            if !terms.contains(term) { terms.append(term) }
        }
        guard !terms.isEmpty else { return nil }
        precondition(terms.count <= Found.bitWidth, "The number of terms is limited by QueryLimits")
        self.terms = terms
    }

    /// Returns the terms of a search text, as written.
    package static func parts(of text: String) -> [Substring.UnicodeScalarView] {
        let scalars = text.unicodeScalars
        var parts: [Substring.UnicodeScalarView] = []
        var rest = scalars[...]
        while let first = rest.first {
            if first.value <= 0x20 {
                rest.removeFirst()
            } else if first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
                let phrase = scalars[scalars.index(after: rest.startIndex)..<end]
                if !phrase.isEmpty { parts.append(phrase) }
                rest = scalars[scalars.index(after: end)...]
            } else {
                let word = rest.prefix { $0.value > 0x20 }
                parts.append(word)
                rest = scalars[word.endIndex...]
            }
        }
        return parts
    }

    /// A set of terms: bit `n` represents `terms[n]`.
    package typealias Found = UInt32

    /// The set of all terms.
    package var all: Found { Found.max >> (Found.bitWidth - terms.count) }

    /// Looks for terms in a part of a record.
    ///
    /// - Parameters:
    ///   - text: The text to search.
    ///   - found: The terms found so far. Those that occur in `text` are added.
    package func search(_ text: String, _ found: inout Found) {
        search(text.utf8Span.span, &found)
    }

    /// Looks for terms in UTF-8.
    ///
    /// - Parameters:
    ///   - bytes: The text to search.
    ///   - found: The terms found so far. Those that occur in `bytes` are added.
    package func search(_ bytes: Span<UInt8>, _ found: inout Found) {
        for (index, term) in terms.enumerated() where found & 1 << index == 0 {
            if term.occurs(in: bytes, from: 0, to: bytes.count) { found |= 1 << index }
        }
    }
}

/// A word or phrase of a search text.
///
/// `occurs` is exact. `nextCandidate` is fast. It misses no occurrence, but may return an index although the term does
/// not occur. Both take time linear in the number of searched bytes, for any term.
package struct TextTerm: Equatable, Sendable {
    /// The term in lower case, as UTF-8.
    package let folded: [UInt8]
    /// The failure function of Knuth, Morris and Pratt: for each length of a prefix of the term, the length of the
    /// longest shorter prefix with which that prefix ends.
    package let borders: [UInt16]
    /// Whether all characters of the term are ASCII. If so, no non-ASCII character can match.
    private let isASCII: Bool
    /// The part of the term that the fast search looks for; nil if the term has no suitable character.
    private let anchor: Anchor?

    /// Creates a term.
    ///
    /// - Parameter text: The term as written; at most `QueryLimits.maxTextBytes` in UTF-8.
    package init(_ text: some Sequence<Unicode.Scalar>) {
        var folded: [UInt8] = []
        var isASCII = true
        for scalar in text {
            let lower = LetterCase.folded(scalar.value)
            isASCII = isASCII && lower < 0x80
            LetterCase.append(lower, to: &folded)
        }
        self.folded = folded
        self.isASCII = isASCII
        borders = Self.borders(of: folded)
        anchor = Anchor(folded)
    }

    package static func == (left: Self, right: Self) -> Bool { left.folded == right.folded }

    private static func borders(of bytes: [UInt8]) -> [UInt16] {
        var borders = [UInt16](repeating: 0, count: bytes.count + 1)
        var length = 0
        for index in bytes.indices.dropFirst() {
            while length > 0, bytes[length] != bytes[index] { length = Int(borders[length]) }
            if bytes[length] == bytes[index] { length += 1 }
            borders[index + 1] = UInt16(length)
        }
        return borders
    }

    // MARK: Exact search

    /// Returns `true` if the term occurs in a part of a text.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8. Bytes that are not well-formed match only themselves.
    ///   - start: The index of the first byte to search.
    ///   - end: The index after the last byte to search.
    package func occurs(in bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        guard anchor != nil else { return matches(bytes, from: start, to: end) }
        switch candidate(in: bytes, from: start, to: end) {
        case .none: return false
        case .at(let index) where isASCII: return index + folded.count <= end
        case .at, .unknown: return matches(bytes, from: start, to: end)
        }
    }

    /// Searches character by character. Takes linear time for any term.
    private func matches(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        var state = Progress()
        var index = start
        while index < end {
            if advance(&state, bytes, &index, end) { return true }
        }
        return false
    }

    /// The state of an exact search: the length of the term's longest prefix with which the text read so far ends.
    package struct Progress: Equatable, Sendable {
        package var length = 0

        package init() {}
    }

    /// Advances a search by one character, or by one byte if the term is ASCII or the bytes are not well-formed.
    ///
    /// - Parameters:
    ///   - state: The state of the search. Receives the new state.
    ///   - bytes: UTF-8.
    ///   - index: The index of the character. Receives the index after the bytes that were read.
    ///   - end: The index after the last byte.
    /// - Returns: `true` if an occurrence of the term ends with these bytes.
    package func advance(_ state: inout Progress, _ bytes: Span<UInt8>, _ index: inout Int, _ end: Int) -> Bool {
        let byte = bytes[index]
        guard byte >= 0x80, !isASCII, let (scalar, count) = LetterCase.scalar(in: bytes, at: index, end: end) else {
            index += 1
            return advance(&state, LetterCase.folded(ascii: byte))
        }
        index += count
        let lower = LetterCase.folded(scalar)
        var isAtEnd = false
        LetterCase.forEachByte(of: lower) { if advance(&state, $0) { isAtEnd = true } }
        return isAtEnd
    }

    /// Advances a search by one byte of a text in lower case. Returns `true` if an occurrence of the term ends with
    /// this byte.
    @inline(__always)
    package func advance(_ state: inout Progress, _ byte: UInt8) -> Bool {
        var length = state.length
        if length == folded.count { length = Int(borders[length]) }
        while length > 0, folded[length] != byte { length = Int(borders[length]) }
        if folded[length] == byte { length += 1 }
        state.length = length
        return length == folded.count
    }

    // MARK: Fast search

    /// Returns the first index at which the term's anchor occurs. If there is no anchor, returns `start`. If finding
    /// the anchor would take too long, returns an earlier index.
    ///
    /// The anchor need not be at the start of the term, so an occurrence of the term may begin before the index.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - start: The index of the first byte to search.
    ///   - end: The index after the last byte to search.
    /// - Returns: Nil only if the term does not occur.
    package func nextCandidate(in bytes: Span<UInt8>, from start: Int, to end: Int) -> Int? {
        switch candidate(in: bytes, from: start, to: end) {
        case .none: nil
        case .at(let index), .unknown(let index): index
        }
    }

    private enum Candidate {
        case none
        case at(Int)
        /// The search ended at this index, because there is no anchor or the search would take too long.
        case unknown(Int)
    }

    private func candidate(in bytes: Span<UInt8>, from start: Int, to end: Int) -> Candidate {
        precondition(start >= 0 && end <= bytes.count, "The range must be within the bytes")
        guard let anchor else { return start < end ? .unknown(start) : .none }
        let last = end - anchor.low.count
        var index = start
        var work = 0
        while index <= last {
            index = anchor.scan(bytes, from: index, to: last + 1)
            guard index <= last else { break }
            let compared = anchor.compare(bytes, at: index)
            if compared == anchor.low.count { return .at(index) }
            // Many long comparisons would take quadratic time.
            work += compared
            guard work <= 4 * (index - start) + 4096 else { return .unknown(index) }
            index += 1
        }
        return .none
    }
}

/// The part of a term that the fast search looks for: a run of characters whose upper and lower case have the same
/// size. The search first looks for the two bytes of the run that are likely to be the rarest.
private struct Anchor: Sendable {
    /// The two allowed bytes at each offset in the run. They differ only for letters.
    private(set) var low: [UInt8] = []
    private(set) var high: [UInt8] = []
    /// The offsets of the two rare bytes in the run, in ascending order.
    private var first = 0
    private var second = 0

    /// Returns nil if no character of the term is suitable.
    ///
    /// - Parameter folded: The term in lower case, as UTF-8.
    init?(_ folded: [UInt8]) {
        var run = Anchor()
        var best = Anchor()
        let bytes = folded.span
        var index = 0
        while index < bytes.count {
            let (scalar, count) =
                LetterCase.scalar(in: bytes, at: index, end: bytes.count) ?? (UInt32(bytes[index]), 1)
            index += count
            if !run.append(scalar) { run = Anchor() }
            if run.low.count > best.low.count { best = run }
        }
        guard !best.low.isEmpty else { return nil }
        self = best
        let offsets = low.indices.sorted { (rarity(at: $0), $1) > (rarity(at: $1), $0) }
        first = min(offsets[0], offsets.count > 1 ? offsets[1] : offsets[0])
        second = max(offsets[0], offsets.count > 1 ? offsets[1] : offsets[0])
    }

    private init() {}

    /// Adds a character in lower case. Returns `false`, and adds nothing, if its variants are unknown or differ in
    /// size, or if more than two values are possible for one of its bytes.
    private mutating func append(_ scalar: UInt32) -> Bool {
        guard let variants = LetterCase.variants(of: scalar) else { return false }
        var own: [UInt8] = []
        LetterCase.append(scalar, to: &own)
        var other = own
        for variant in variants {
            var bytes: [UInt8] = []
            LetterCase.append(variant, to: &bytes)
            guard bytes.count == own.count else { return false }
            for index in bytes.indices where bytes[index] != own[index] {
                guard other[index] == own[index] || other[index] == bytes[index] else { return false }
                other[index] = bytes[index]
            }
        }
        low += own
        high += other
        return true
    }

    /// The characters that are frequent in reports, the most frequent first.
    private static let frequent = Array(" etaoinsrldcmup\"h0g1fb25:y3.4-v867w9,/k_x=qjz".utf8)

    private func rarity(at offset: Int) -> Int { min(Self.rarity(of: low[offset]), Self.rarity(of: high[offset])) }

    private static func rarity(of byte: UInt8) -> Int {
        // The first byte of a non-ASCII character depends mostly on its script, so it is frequent.
        if byte >= 0xC0 { return 4 }
        if byte >= 0x80 { return 30 }
        return frequent.firstIndex(of: LetterCase.folded(ascii: byte)) ?? frequent.count
    }

    /// Returns the first index at which both rare bytes match. The last indexes, fewer than 16, may remain untested. If
    /// no tested index matches, returns the first untested one, or `end` if there is none.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - start: The first index at which the run may start.
    ///   - end: The index after the last one at which the run may start. A run that starts before `end` must be within
    ///     the bytes.
    func scan(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        let lowFirst = ByteMask.Vector(repeating: Int8(bitPattern: low[first]))
        let highFirst = ByteMask.Vector(repeating: Int8(bitPattern: high[first]))
        let lowSecond = ByteMask.Vector(repeating: Int8(bitPattern: low[second]))
        let highSecond = ByteMask.Vector(repeating: Int8(bitPattern: high[second]))
        let found = bytes.scan(from: start + first, to: end + first, and: second - first) { one, other in
            ((one .== lowFirst) .| (one .== highFirst)) .& ((other .== lowSecond) .| (other .== highSecond))
        }
        return found - first
    }

    /// Returns the number of bytes of the run that match at an index, before the first one that does not.
    func compare(_ bytes: Span<UInt8>, at index: Int) -> Int {
        for offset in low.indices {
            let byte = bytes[index + offset]
            guard byte == low[offset] || byte == high[offset] else { return offset }
        }
        return low.count
    }
}

/// The case folding of searches.
///
/// Letters whose lower case is a single character are compared in lower case (Unicode Character Database). An ASCII
/// letter never equals a non-ASCII character, so the Kelvin sign is not a `k`.
package enum LetterCase {
    /// The end of the characters whose lower case is looked up in a table. After it, only a few scripts have case.
    private static let tableEnd: UInt32 = 0xAC00

    /// The lower case of all characters below `tableEnd`. Created on first use.
    private static let table: [UInt16] = (0..<tableEnd).map { UInt16(mapping(of: $0)) }

    /// For each lower-case character below `tableEnd`, the other characters with this lower case.
    private static let uppers: [UInt32: [UInt32]] = {
        var uppers: [UInt32: [UInt32]] = [:]
        for (upper, lower) in table.enumerated() where UInt32(lower) != UInt32(upper) {
            uppers[UInt32(lower), default: []].append(UInt32(upper))
        }
        return uppers
    }()

    /// Returns the lower case of an ASCII byte. Other bytes are returned unchanged.
    @inline(__always)
    package static func folded(ascii byte: UInt8) -> UInt8 { ByteClass.isCapital(byte) ? byte | 0x20 : byte }

    /// Returns the lower case of a character.
    package static func folded(_ scalar: UInt32) -> UInt32 {
        switch scalar {
        case 0..<0x80: UInt32(folded(ascii: UInt8(scalar)))
        case 0..<tableEnd: UInt32(table[Int(scalar)])
        // Hangul, private use, symbols and ideographs have no case.
        case tableEnd..<0xFE00, 0x1F000...: scalar
        default: mapping(of: scalar)
        }
    }

    /// Returns all characters whose lower case is `folded`, including `folded`; nil if they are unknown.
    static func variants(of folded: UInt32) -> [UInt32]? {
        switch folded {
        case 0x61...0x7A: [folded, folded - 0x20]
        case 0..<0x80: [folded]
        case 0..<tableEnd: [folded] + (uppers[folded] ?? [])
        case tableEnd..<0xFE00, 0x1F000...: [folded]
        default: nil
        }
    }

    private static func mapping(of scalar: UInt32) -> UInt32 {
        guard scalar >= 0x80 else { return UInt32(folded(ascii: UInt8(scalar))) }
        guard let scalar = Unicode.Scalar(scalar) else { return scalar }
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        guard let first = lower.first, lower.count == 1, first.value >= 0x80 else { return scalar.value }
        return first.value
    }

    /// Returns UTF-8 in lower case. Bytes that are not well-formed are left unchanged.
    static func folded(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        let span = bytes.span
        var index = 0
        while index < span.count {
            guard span[index] >= 0x80, let (scalar, count) = scalar(in: span, at: index, end: span.count) else {
                output.append(folded(ascii: span[index]))
                index += 1
                continue
            }
            append(folded(scalar), to: &output)
            index += count
        }
        return output
    }

    /// Returns the character at an index and its size in bytes, or nil if the bytes are not well-formed UTF-8.
    package static func scalar(in bytes: Span<UInt8>, at index: Int, end: Int) -> (scalar: UInt32, count: Int)? {
        let first = bytes[index]
        let count: Int
        var scalar: UInt32
        switch first {
        case 0..<0x80: return (UInt32(first), 1)
        case 0xC2...0xDF: (count, scalar) = (2, UInt32(first & 0x1F))
        case 0xE0...0xEF: (count, scalar) = (3, UInt32(first & 0x0F))
        case 0xF0...0xF4: (count, scalar) = (4, UInt32(first & 0x07))
        default: return nil
        }
        guard index + count <= end else { return nil }
        for offset in 1..<count {
            let byte = bytes[index + offset]
            guard byte & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        let lowest: UInt32 = count == 2 ? 0x80 : count == 3 ? 0x800 : 0x10000
        guard scalar >= lowest, Unicode.Scalar(scalar) != nil else { return nil }
        return (scalar, count)
    }

    /// Appends a character as UTF-8.
    package static func append(_ scalar: UInt32, to output: inout [UInt8]) {
        forEachByte(of: scalar) { output.append($0) }
    }

    /// Passes the bytes of a character in UTF-8 to `body`.
    @inline(__always)
    static func forEachByte(of scalar: UInt32, _ body: (UInt8) -> Void) {
        let last = UInt8(truncatingIfNeeded: scalar & 0x3F | 0x80)
        switch scalar {
        case 0..<0x80: body(UInt8(scalar))
        case 0..<0x800:
            body(UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0))
            body(last)
        case 0..<0x10000:
            body(UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0))
            body(UInt8(truncatingIfNeeded: scalar >> 6 & 0x3F | 0x80))
            body(last)
        default:
            body(UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0))
            body(UInt8(truncatingIfNeeded: scalar >> 12 & 0x3F | 0x80))
            body(UInt8(truncatingIfNeeded: scalar >> 6 & 0x3F | 0x80))
            body(last)
        }
    }
}

extension TextTerm {
    /// Returns `true` if the term may occur in a message with this template. Occurrences within a single part (the text
    /// for one placeholder of the template) don't count.
    ///
    /// The result is `true` if a run of fixed text contains the term, or if the term can extend across a boundary of a
    /// part. This depends on the bytes that a part of each kind can contain, but not on the length of parts.
    ///
    /// - Parameter template: The template, as stored.
    package func mayOccur(inTemplate template: [UInt8]) -> Bool {
        let text = LetterCase.folded(template)
        /// The kind of the part before the current fixed text.
        var before: MessageTemplate.Placeholder?
        var start = 0
        var parts = 0
        while true {
            var end = start
            while end < text.count, !MessageTemplate.isPlaceholder(text[end]) { end += 1 }
            let fixed = text[start..<end]
            var state = Progress()
            for byte in fixed where advance(&state, byte) { return true }
            if let before, mayContinue(fixed, after: before, isLast: end == text.count) { return true }
            guard end < text.count, let next = MessageTemplate.Placeholder(rawValue: text[end]) else { return false }
            if mayEnter(next, from: state.length) { return true }
            before = next
            start = end + 1
            parts += 1
            // This limits the cost of hostile templates.
            if parts > 64 { return true }
        }
    }

    /// Returns `true` if the term can continue in a part after fixed text.
    ///
    /// - Parameter length: The length of the longest prefix of the term with which the fixed text ends.
    private func mayEnter(_ part: MessageTemplate.Placeholder, from length: Int) -> Bool {
        var length = length
        while length > 0 {
            if part.mayContain(folded[length]) { return true }
            length = Int(borders[length])
        }
        return false
    }

    /// Returns `true` if the term can begin in a part, or before it, and continue in the fixed text after the part. If
    /// the fixed text is empty, returns `true` if another part follows, because the term can continue there.
    ///
    /// - Parameters:
    ///   - fixed: The text up to the next part, or up to the end of the template.
    ///   - part: The kind of the part.
    ///   - isLast: `true` if no part follows `fixed`.
    private func mayContinue(
        _ fixed: ArraySlice<UInt8>, after part: MessageTemplate.Placeholder, isLast: Bool
    ) -> Bool {
        guard !fixed.isEmpty else { return !isLast }
        for index in folded.indices.dropFirst() where part.mayContain(folded[index - 1]) {
            // A few bytes suffice to rule out most indexes. The limit keeps the time linear.
            let count = min(fixed.count, folded.count - index, 32)
            if fixed.prefix(count).elementsEqual(folded[index..<index + count]) { return true }
        }
        return false
    }
}

extension MessageTemplate.Placeholder {
    /// Returns `true` if a part of this kind, in lower case, may contain a byte.
    fileprivate func mayContain(_ byte: UInt8) -> Bool {
        switch self {
        case .number: byte >= 0x20
        case .hexadecimal: ByteClass.isHexadecimal(byte) || byte == UInt8(ascii: "x")
        case .uuid: ByteClass.isHexadecimal(byte) || byte == UInt8(ascii: "-")
        case .quoted: byte >= 0x20
        case .value: true
        // A part of the path may be redacted, such as `[@awskey]`.
        case .path: ByteClass.inPath(byte) || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
        // A part may be a list of addresses.
        case .address: ByteClass.inAddress(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: ",")
        }
    }
}

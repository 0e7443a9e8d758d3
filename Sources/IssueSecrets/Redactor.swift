package import IssueWire

/// Removes secret and personal values from the texts of records according to the settings.
///
/// A thread can use one redactor for all its records. The methods are `mutating`, so that they reuse the redactor's
/// memory without copying it.
package struct Redactor: Sendable {
    private let settings: RedactionSettings
    /// Hashes a value. If this is nil, values are masked instead.
    private let hash: (@Sendable (Span<UInt8>) -> UInt64)?
    private let rules: RedactionRuleSet
    /// The active rules that recognise a value by its form. Only these apply to names in programs, such as function
    /// names.
    private let formRules: RedactionRuleSet
    private let names: ConfiguredNames?
    /// The values and marks found by the last call of `find` that found any.
    package var matches: [RedactionMatch] = []
    /// The counts since the last call of `takeCounts()`.
    private var counts = RedactionCounts()
    private var hasCounts = false

    /// The maximum number of matches in a text. If it is reached, the last one is a value that extends to the end of
    /// the text.
    static let maxMatches = 4096

    /// Creates a redactor.
    ///
    /// - Parameters:
    ///   - settings: The rules and their actions.
    ///   - hash: Returns the hash of a value. Without it, values are masked instead.
    package init(_ settings: RedactionSettings, hash: (@Sendable (Span<UInt8>) -> UInt64)?) {
        self.settings = hash == nil ? settings.withoutHashes : settings
        self.hash = hash
        rules = settings.rules
        var forms = RedactionRuleSet()
        for rule in RedactionRule.allCases where rule.index > RedactionRule.cookie.index && settings[rule] != .off {
            forms.insert(rule)
        }
        formRules = forms
        names = ConfiguredNames(settings)
    }

    /// Whether any rule is used.
    package var isActive: Bool { !rules.isEmpty }

    /// Returns the numbers of values removed since the last call; nil if there were none.
    package mutating func takeCounts() -> RedactionCounts? {
        guard hasCounts else { return nil }
        defer { (counts, hasCounts) = (RedactionCounts(), false) }
        return counts
    }

    // MARK: Finding

    /// Finds the values in a text, and the marks of removed values, and stores both in `matches`.
    ///
    /// - Parameter isCode: `true` if the text is a name in a program. Rules that look for names of secrets do not apply
    ///   then.
    /// - Returns: `false` if neither was found. `matches` is then unchanged.
    package mutating func find(in bytes: Span<UInt8>, from start: Int, to end: Int, isCode: Bool = false) -> Bool {
        let rules = isCode ? formRules : rules
        guard !rules.isEmpty else { return false }
        let names = isCode ? nil : names
        var reader = SecretReader(bytes, from: start, to: end, rules, names)
        guard let first = reader.next() else { return false }
        matches.removeAll(keepingCapacity: true)
        var next: RedactionMatch? = first
        while let match = next {
            matches.append(match)
            next = reader.next()
            if matches.count == Self.maxMatches {
                matches[Self.maxMatches - 1].end = end
                matches[Self.maxMatches - 1].isMark = false
                break
            }
        }
        return true
    }

    /// Returns `true` if JSON may contain values to remove. May return `true` for JSON without any.
    mutating func mayFind(inJSON bytes: Span<UInt8>, _ range: Range<Int>, isCode: Bool = false) -> Bool {
        let rules = isCode ? formRules : rules
        guard !rules.isEmpty else { return false }
        let names = isCode ? nil : names
        var reader = SecretReader(bytes, from: range.lowerBound, to: range.upperBound, rules, names)
        return reader.mayFindInJSON()
    }

    /// Counts the values in `matches`.
    package mutating func countMatches() {
        for match in matches where !match.isMark { count(match.rule) }
    }

    private mutating func count(_ rule: RedactionRule) {
        counts[rule] += 1
        hasCounts = true
    }

    // MARK: Replacing

    /// Appends the replacement of a value. A mark is copied.
    package mutating func append(_ match: RedactionMatch, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
        if match.isMark { return output.append(bytes, from: match.start, to: match.end) }
        append(match.rule, bytes, from: match.start, to: match.end, to: &output)
    }

    private mutating func append(
        _ rule: RedactionRule, _ bytes: Span<UInt8>, from start: Int, to end: Int, to output: inout ByteBuffer
    ) {
        switch settings[rule] {
        case .off, .mask: RedactionMark.append(rule, hash: nil, to: &output)
        case .hash:
            RedactionMark.append(rule, hash: hash?(bytes.extracting(start..<end)), to: &output)
        case .remove: break
        }
    }

    /// Appends a text in which the values in `matches` are replaced.
    package mutating func appendReplaced(
        _ bytes: Span<UInt8>, from start: Int, to end: Int, to output: inout ByteBuffer
    ) {
        var index = start
        for match in matches {
            output.append(bytes, from: index, to: match.start)
            append(match, of: bytes, to: &output)
            index = match.end
        }
        output.append(bytes, from: index, to: end)
    }

    /// Replaces the values in the text that extends from an index to the end of a buffer.
    package mutating func replace(in buffer: inout ByteBuffer, from start: Int, isCode: Bool = false) {
        guard isActive else { return }
        // The bytes before `start` belong to another text and must not be examined.
        let count = buffer.count - start
        guard
            let replaced = replaced(
                buffer.span.extracting(start..<buffer.count), from: 0, to: count, isCode: isCode)
        else { return }
        buffer.truncate(to: start)
        buffer.append(replaced)
    }

    /// Returns the text with the values replaced, and counts them; nil if there are neither values nor marks.
    private mutating func replaced(_ bytes: Span<UInt8>, from start: Int, to end: Int, isCode: Bool) -> ByteBuffer? {
        guard find(in: bytes, from: start, to: end, isCode: isCode) else { return nil }
        countMatches()
        var replaced = ByteBuffer()
        appendReplaced(bytes, from: start, to: end, to: &replaced)
        return replaced
    }

    /// Returns a text in which the values that rules find are replaced.
    package mutating func text(_ text: String) -> String {
        let buffer = ByteBuffer(Array(text.utf8))
        guard let replaced = replaced(buffer.span, from: 0, to: buffer.count, isCode: false) else { return text }
        return String(decoding: replaced[0..<replaced.count], as: UTF8.self)
    }

    /// Returns JSON in which the values that rules find are replaced.
    package mutating func json(_ value: JSONValue) -> JSONValue {
        let bytes = value.json
        guard isActive, mayFind(inJSON: bytes.span, bytes.indices) else { return value }
        var replaced = ByteBuffer()
        append(json: bytes.span, bytes.indices, isData: true, to: &replaced)
        // The value may be nested deeper than the default limit.
        return (try? JSONValue(json: replaced.span, maximumDepth: 1 << 16)) ?? .null
    }
}

/// The text that replaces a removed value.
enum RedactionMark {
    static let hashDigits = 16

    /// Appends `[@rule]` or `[@rule:hash]`.
    static func append(_ rule: RedactionRule, hash: UInt64?, to output: inout ByteBuffer) {
        output.append(contentsOf: "[@\(rule.rawValue)".utf8)
        if let hash { output.append(contentsOf: ":\(String(hexadecimal: hash, width: hashDigits))".utf8) }
        output.append(UInt8(ascii: "]"))
    }
}

// MARK: - JSON

extension Redactor {
    /// The rule that a value gets from its own key, from the key of an enclosing object or array, or from the
    /// command-line option before it.
    private struct Inherited {
        var rule: RedactionRule
        /// Whether only values that look like secrets are removed.
        var isVague: Bool

        /// The rule for nested values. For `authorization` and `token`, only nested values that look like secrets are
        /// removed: a token of a syntax tree, for example, may be an object, too.
        var inside: Inherited { Inherited(rule: rule, isVague: isVague || rule == .token || rule == .authorization) }
    }

    /// The state of copying JSON.
    private struct Copy {
        /// The index of the first byte that was not copied yet.
        var position: Int
        let isCode: Bool
        let isData: Bool
        /// The number of keys that became empty.
        var emptiedKeys = 0
    }

    /// Appends JSON in which the values that rules find are replaced. Everything else stays as the sender wrote it,
    /// except that other characters in a changed text may be escaped differently.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the JSON.
    ///   - range: The range of the JSON in `bytes`. The JSON must be valid.
    ///   - isCode: `true` if the texts are names in a program. Rules that look for names of secrets do not apply then.
    ///   - isData: `true` if the sender chooses the members of the JSON, as in metadata. A text that becomes empty is
    ///     then replaced with null, and a key that becomes empty is replaced with a mark.
    package mutating func append(
        json bytes: Span<UInt8>, _ range: Range<Int>, isCode: Bool = false, isData: Bool = false,
        to output: inout ByteBuffer
    ) {
        guard mayFind(inJSON: bytes, range, isCode: isCode) else {
            return output.append(bytes, from: range.lowerBound, to: range.upperBound)
        }
        var scanner = JSONScanner(bytes, from: range.lowerBound, maximumDepth: 1 << 16)
        var copy = Copy(position: range.lowerBound, isCode: isCode, isData: isData)
        do throws(JSONError) {
            try rewrite(&scanner, nil, &copy, &output)
        } catch {
            preconditionFailure("JSON that was read before is invalid: \(error)")
        }
        output.append(bytes, from: copy.position, to: range.upperBound)
    }

    private mutating func rewrite(
        _ scanner: inout JSONScanner, _ inherited: Inherited?, _ copy: inout Copy, _ output: inout ByteBuffer
    ) throws(JSONError) {
        switch try scanner.kind() {
        case .object:
            let inherited = inherited?.inside
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                let own = meaning(of: key, scanner, isCode: copy.isCode)
                rewrite(text: key, isKey: true, scanner.bytes, &copy, &output)
                switch own {
                case .inherits: try rewrite(&scanner, inherited, &copy, &output)
                case .plain: try rewrite(&scanner, nil, &copy, &output)
                case .secret(let own): try rewrite(&scanner, own, &copy, &output)
                }
            }
        case .array:
            try scanner.openArray()
            var arguments = ArgumentList()
            while try scanner.nextElement() {
                if inherited == nil, !copy.isCode, try rewrite(argument: &scanner, &arguments, &copy, &output) {
                    continue
                }
                try rewrite(&scanner, inherited?.inside, &copy, &output)
            }
        case .string:
            let text = try scanner.text()
            if let inherited, rewrite(secret: text, scanner.bytes, inherited, &copy, &output) { return }
            rewrite(text: text, scanner.bytes, &copy, &output)
        case .number:
            let range = try scanner.skipValue()
            rewrite(number: range, scanner.bytes, inherited, &copy, &output)
        case .bool, .null: _ = try scanner.skipValue()
        }
    }

    /// Replaces the values in the next element of an array, which may be the value of a command-line option. Returns
    /// `false`, and does not read the element, if it is not a text.
    private mutating func rewrite(
        argument scanner: inout JSONScanner, _ arguments: inout ArgumentList, _ copy: inout Copy,
        _ output: inout ByteBuffer
    ) throws(JSONError) -> Bool {
        guard try scanner.kind() == .string else {
            arguments.skip()
            return false
        }
        let text = try scanner.text()
        var resolved = ByteBuffer()
        let element: ArgumentList.Element
        if text.hasEscapes {
            scanner.append(text, to: &resolved)
            element = arguments.next(SecretReader(resolved.span, from: 0, to: resolved.count, rules, names))
        } else {
            element = arguments.next(SecretReader(scanner.bytes, from: text.start, to: text.end, rules, names))
        }
        switch element {
        case .plain: break
        case .value(let rule, let isVague):
            let inherited = Inherited(rule: rule, isVague: isVague)
            if rewrite(secret: text, scanner.bytes, inherited, &copy, &output) { return true }
        case .attachedPassword:
            count(.password)
            output.append(scanner.bytes, from: copy.position, to: text.start)
            output.append(contentsOf: "-p".utf8)
            if text.hasEscapes {
                append(.password, resolved.span, from: 2, to: resolved.count, to: &output)
            } else {
                append(.password, scanner.bytes, from: text.start + 2, to: text.end, to: &output)
            }
            copy.position = text.end
            return true
        }
        rewrite(text: text, scanner.bytes, &copy, &output)
        return true
    }

    private enum KeyMeaning {
        case inherits
        /// According to the settings, the values are not secret.
        case plain
        case secret(Inherited)
    }

    private func meaning(of key: JSONText, _ scanner: borrowing JSONScanner, isCode: Bool) -> KeyMeaning {
        guard !isCode else { return .inherits }
        guard key.hasEscapes else { return meaning(of: scanner.bytes, from: key.start, to: key.end) }
        var resolved = ByteBuffer()
        scanner.append(key, to: &resolved)
        return meaning(of: resolved.span, from: 0, to: resolved.count)
    }

    private func meaning(of bytes: Span<UInt8>, from start: Int, to end: Int) -> KeyMeaning {
        if names?.isSecret(bytes, from: start, to: end) == false { return .plain }
        let reader = SecretReader(bytes, from: start, to: end, rules, names)
        guard let name = reader.name(from: start, to: end), let rule = name.rule else { return .inherits }
        return .secret(Inherited(rule: rule, isVague: name.isVague))
    }

    /// Replaces a text whose key or option is the name of a secret, if the text may be a secret value.
    ///
    /// - Returns: `false` if the text was not replaced.
    private mutating func rewrite(
        secret text: JSONText, _ bytes: Span<UInt8>, _ inherited: Inherited, _ copy: inout Copy,
        _ output: inout ByteBuffer
    ) -> Bool {
        let scanner = JSONScanner(bytes, from: text.start)
        var value = ByteBuffer()
        scanner.append(text, to: &value)
        let reader = SecretReader(value.span, from: 0, to: value.count, rules, names)
        guard reader.isSecretValue(rule: inherited.rule, isVague: inherited.isVague) else { return false }
        count(inherited.rule)
        output.append(bytes, from: copy.position, to: text.start - 1)
        appendValue(inherited.rule, value.span, to: &output)
        copy.position = text.end + 1
        return true
    }

    private mutating func appendValue(_ rule: RedactionRule, _ bytes: Span<UInt8>, to output: inout ByteBuffer) {
        guard settings[rule] != .remove else { return output.append(contentsOf: "null".utf8) }
        output.append(UInt8(ascii: "\""))
        append(rule, bytes, from: 0, to: bytes.count, to: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Replaces the values in a text that is a part of JSON.
    private mutating func rewrite(
        text: JSONText, isKey: Bool = false, _ bytes: Span<UInt8>, _ copy: inout Copy, _ output: inout ByteBuffer
    ) {
        let found: ByteBuffer?
        if text.hasEscapes {
            var resolved = ByteBuffer()
            JSONScanner(bytes, from: text.start).append(text, to: &resolved)
            found = replaced(resolved.span, from: 0, to: resolved.count, isCode: copy.isCode)
        } else {
            found = replaced(bytes, from: text.start, to: text.end, isCode: copy.isCode)
        }
        guard let found else { return }
        if found.count == 0, copy.isData { return rewrite(emptied: text, isKey: isKey, bytes, &copy, &output) }
        output.append(bytes, from: copy.position, to: text.start)
        if text.hasEscapes {
            var escaped: [UInt8] = []
            JSONWriter.append(escaped: found.span, to: &escaped)
            output.append(contentsOf: escaped)
        } else {
            // Neither the marks nor the text between the values need escapes.
            output.append(found)
        }
        copy.position = text.end
    }

    /// Writes null in place of a text that became empty. A key becomes a mark instead. From the second such key on, the
    /// mark has a number, so that the marks differ.
    private func rewrite(
        emptied text: JSONText, isKey: Bool, _ bytes: Span<UInt8>, _ copy: inout Copy, _ output: inout ByteBuffer
    ) {
        guard isKey else {
            output.append(bytes, from: copy.position, to: text.start - 1)
            output.append(contentsOf: "null".utf8)
            copy.position = text.end + 1
            return
        }
        output.append(bytes, from: copy.position, to: text.start)
        copy.emptiedKeys += 1
        let number = copy.emptiedKeys > 1 ? " \(copy.emptiedKeys)" : ""
        output.append(contentsOf: "[@\(matches[0].rule.rawValue)\(number)]".utf8)
        copy.position = text.end
    }

    /// Replaces a number if it inherits a rule that is not vague, other than `token` and `authorization`, or if a rule
    /// recognises the number itself, such as a card number.
    private mutating func rewrite(
        number range: Range<Int>, _ bytes: Span<UInt8>, _ inherited: Inherited?, _ copy: inout Copy,
        _ output: inout ByteBuffer
    ) {
        var rule: RedactionRule?
        if let inherited, !inherited.isVague, inherited.rule != .token, inherited.rule != .authorization {
            rule = inherited.rule
        } else if find(in: bytes, from: range.lowerBound, to: range.upperBound, isCode: copy.isCode) {
            rule = matches[0].rule
        }
        guard let rule else { return }
        count(rule)
        output.append(bytes, from: copy.position, to: range.lowerBound)
        appendValue(rule, bytes.extracting(range), to: &output)
        copy.position = range.upperBound
    }
}

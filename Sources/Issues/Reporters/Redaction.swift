package import IssueWire
internal import Synchronization

/// A rule that replaces secret values in a report before the report leaves the process.
///
/// ```swift
/// IssueReporters.redaction = [.keys("badge", "pin"), .texts { $0.contains("Mrs. Smith") ? "[@secret]" : nil }]
/// ```
///
/// The product `IssuesRedacting` has rules for the values that the daemon recognises, such as passwords and tokens.
public struct IssueRedaction: Sendable {
    private enum Rule: Sendable {
        /// The names of keys, in lower case and without characters other than letters and digits.
        case keys(Set<String>)
        case texts(@Sendable (String) -> String?)
        case scanner(text: @Sendable (String) -> String?, json: @Sendable (JSONValue) -> JSONValue)
    }

    /// The text that replaces the value of a key: the daemon's mark for a secret.
    package static let mark = "[@secret]"

    private let rule: Rule

    private init(_ rule: Rule) {
        self.rule = rule
    }

    /// Creates a rule with separate closures for texts and for JSON.
    ///
    /// - Parameters:
    ///   - text: Returns the text with its secret values replaced; nil if it has none.
    ///   - json: Returns the JSON with its secret values replaced.
    package init(
        text: @escaping @Sendable (String) -> String?, json: @escaping @Sendable (JSONValue) -> JSONValue
    ) {
        rule = .scanner(text: text, json: json)
    }

    /// Replaces each value whose key has one of these names with `[@secret]`, at any depth of the metadata of a report
    /// and of its breadcrumbs. Nulls are kept.
    ///
    /// - Parameter names: The names. Case and all characters except letters and digits are ignored, so `apiKey` also
    ///   matches `api_key`.
    /// - Returns: The rule.
    public static func keys(_ names: String...) -> Self {
        Self(.keys(Set(names.map(folded))))
    }

    /// Passes each text of a report to a closure: the message, the error's domain, the texts and keys of metadata and
    /// breadcrumbs, causes, the fingerprint, and the ids of the request and the user.
    ///
    /// If the closure replaces only values that are interpolated into the message, the report stays in its group. To
    /// replace other text, use a mark that the daemon knows, such as `[@secret]`, `[@password]` or `[@email]`: the
    /// daemon treats it as a variable part of the message.
    ///
    /// - Parameter replace: Returns the text to report instead; nil to keep the text. It is called on the
    ///   reporting thread and must not block.
    /// - Returns: The rule.
    public static func texts(_ replace: @escaping @Sendable (String) -> String?) -> Self {
        Self(.texts(replace))
    }

    private static func folded(_ name: String) -> String {
        name.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    /// Returns a text with its secret values replaced; nil if it has none.
    fileprivate func replaced(_ text: String) -> String? {
        switch rule {
        case .keys: nil
        case .texts(let replace), .scanner(text: let replace, json: _): replace(text)
        }
    }

    /// Returns JSON with its secret values replaced.
    fileprivate func redacted(_ json: JSONValue) -> JSONValue {
        if case .scanner(_, let redact) = rule { return redact(json) }
        switch json {
        case .null, .bool, .integer, .number: return json
        case .string(let text): return .string(replaced(text) ?? text)
        case .array(let elements):
            var list: [JSONValue] = []
            for element in elements { list.append(redacted(element)) }
            return .array(list)
        case .object(let members):
            var list: [JSONValue.Member] = []
            for member in members {
                let isSecret = hasKey(member.key) && !member.value.isNull
                list.append(
                    .init(
                        replaced(member.key) ?? member.key, isSecret ? .string(Self.mark) : redacted(member.value)))
            }
            return .object(list)
        }
    }

    private func hasKey(_ name: String) -> Bool {
        guard case .keys(let names) = rule else { return false }
        return names.contains(Self.folded(name))
    }
}

extension IssueReporters {
    /// The rules that are applied, in this order, to each report before a reporter receives it. Empty by default.
    ///
    /// The values that they replace are not sent, not written to standard error, and not saved in the files of unsent
    /// reports. The rules do not change the names of the application, files and functions, nor ``IssueReport/error``.
    /// The error does not leave the process, but a reporter or a test library may print it. Responders run before the
    /// rules.
    ///
    /// An issue that a rule itself reports is written to standard error without its texts.
    public static var redaction: [IssueRedaction] {
        get { RedactionHook.rules.withLock { $0 } }
        set { RedactionHook.rules.replace(with: newValue, setting: RedactionHook.isSet, to: !newValue.isEmpty) }
    }
}

/// The application's rules of redaction.
enum RedactionHook {
    fileprivate static let rules = Mutex<[IssueRedaction]>([])
    // Separate from the rules, so that a report takes no lock in an application without any.
    fileprivate static let isSet = Atomic(false)
    /// Whether a rule is running in the current task, or a rule has started the current task.
    @TaskLocal private static var isRunning = false

    /// The message of an issue that a rule itself reports. Its other texts are removed.
    private static let omitted = "Issue reported by a redaction rule (text omitted)"

    /// Returns a text with its secret values replaced, or ``omitted`` if a rule is running already.
    static func text(_ text: String) -> String {
        guard isSet.load(ordering: .acquiring) else { return text }
        return run(else: omitted) { redacted(text, by: $0) ?? text }
    }

    @inline(never)
    fileprivate static func redacted(_ report: IssueReport) -> IssueReport {
        run(else: report.replacing { $0.omitTexts(omitted) }) { report.redacted(by: $0) }
    }

    /// Runs `body` with the rules. Returns `nested` if a rule is running already, since a rule that reports an issue
    /// must not be called for that issue.
    private static func run<Value>(else nested: @autoclosure () -> Value, _ body: ([IssueRedaction]) -> Value) -> Value
    {
        guard !isRunning else { return nested() }
        let rules = rules.withLock { $0 }
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        return $isRunning.withValue(true) { ReportingScope.$box.withValue(scope) { body(rules) } }
    }

    /// Returns a text with its secret values replaced; nil if it has none.
    fileprivate static func redacted(_ text: String, by rules: [IssueRedaction]) -> String? {
        var result: String?
        for rule in rules { result = rule.replaced(result ?? text) ?? result }
        return result
    }
}

extension IssueReport {
    /// The report with its secret values replaced by the application's rules.
    package var redacted: IssueReport {
        guard RedactionHook.isSet.load(ordering: .acquiring), !isRedacted else { return self }
        return RedactionHook.redacted(self)
    }

    /// Returns the report with its secret values replaced by rules.
    package func redacted(by rules: [IssueRedaction]) -> IssueReport {
        replacing { $0.redact(by: rules) }
    }
}

extension IssueReport.Content {
    fileprivate mutating func omitTexts(_ text: String) {
        message = text
        (note, errorMessage, domain, fingerprint) = (nil, "", nil, nil)
        (metadata, breadcrumbs, causes, context) = ([:], [], [], IssueContext())
        values = IssueText.Values(isKnown: false)
    }

    fileprivate mutating func redact(by rules: [IssueRedaction]) {
        func text(_ text: String) -> String { RedactionHook.redacted(text, by: rules) ?? text }
        func metadata(_ metadata: IssueMetadata) -> IssueMetadata {
            guard !metadata.isEmpty else { return metadata }
            return IssueMetadata(json: rules.reduce(metadata.json) { $1.redacted($0) })
        }
        redactMessage(text)
        note = note.map(text)
        errorMessage = text(errorMessage)
        domain = domain.map(text)
        fingerprint = fingerprint.map(text)
        self.metadata = metadata(self.metadata)
        for index in breadcrumbs.indices {
            breadcrumbs[index].message = text(breadcrumbs[index].message)
            breadcrumbs[index].metadata = metadata(breadcrumbs[index].metadata)
        }
        for index in causes.indices {
            causes[index].domain = causes[index].domain.map(text)
            causes[index].message = text(causes[index].message)
        }
        for field in IssueContext.Field.allCases where !field.isHexadecimal {
            context[field] = context[field].map(text)
        }
    }

    /// Replaces the secret values in the message. The template stays, unless a replacement affects its constant text or
    /// a secret is found only in the whole message.
    private mutating func redactMessage(_ text: (String) -> String) {
        let described = String(decoding: message.utf8.prefix(describedLength), as: UTF8.self)
        guard values.isKnown, values.end <= describedLength, describedLength <= message.utf8.count else {
            return message = text(message)
        }
        let isWhole = describedLength == message.utf8.count
        let head = text(described)
        let tail = isWhole ? "" : text(String(decoding: message.utf8.dropFirst(describedLength), as: UTF8.self))
        let joined = head + tail
        // The caller's message may end with the name of a secret whose value begins the error's message.
        let all = isWhole ? joined : text(joined)
        if all == joined, joined.utf8.elementsEqual(message.utf8) { return }
        if all == joined, let values = values.aligned(from: described, to: head) {
            self.values = values
            describedLength = head.utf8.count
        } else {
            values = IssueText.Values(isKnown: false)
        }
        message = all
    }
}

extension IssueText.Values {
    /// Returns the positions of the values in a text with the same constant parts and perhaps other values; nil if the
    /// constant parts differ.
    ///
    /// - Parameters:
    ///   - old: The text that the values belong to.
    ///   - new: The other text.
    fileprivate func aligned(from old: String, to new: String) -> IssueText.Values? {
        let (old, new) = (Array(old.utf8), Array(new.utf8))
        /// The constant part before a value, or after the last one.
        func literal(_ index: Int) -> ArraySlice<UInt8> {
            old[
                (index == 0 ? 0 : self[index - 1].range.upperBound)..<(index == count
                    ? old.count : self[index].range.lowerBound)]
        }
        guard new.starts(with: literal(0)) else { return nil }
        var aligned = IssueText.Values()
        var start = literal(0).count
        for index in 0..<count {
            let next = literal(index + 1)
            let limit = new.count - next.count
            guard start <= limit else { return nil }
            var end = index == count - 1 ? limit : start
            while end <= limit, !new[end...].starts(with: next) { end += 1 }
            guard end <= limit else { return nil }
            let isSame = new[start..<end] == old[self[index].range]
            aligned.append(from: start, to: end, isSame ? self[index].kind : .text)
            start = end + next.count
        }
        return start == new.count ? aligned : nil
    }
}

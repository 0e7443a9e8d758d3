package import IssueProtocol

/// Computes the fingerprint that identifies an issue within an account. The same series has the same fingerprint on
/// every host and for every user.
package enum Fingerprint {
    /// The version of the rule that `of` implements. A changed rule gets the next number, and existing groups are moved
    /// to it (`Regrouping`).
    package static let rule: Int64 = 2

    /// Returns the fingerprint of a series: the sender's own if it gave one, otherwise sixteen hexadecimal digits.
    ///
    /// The digits are a hash of the application, domain, code, module, the file's base name, function and the message's
    /// template. Stack frames are not included. Line and column are included only if the template consists of the
    /// sender's values, because such a template does not distinguish messages.
    package static func of(_ series: SeriesDescription, app: String) -> String {
        if let chosen = series.fingerprint, !chosen.isEmpty { return chosen }
        var hash = SipHash()
        hash.append(UInt64(rule))
        hash.append(field: app)
        hash.append(field: series.domain)
        hash.append(field: series.code.map { String($0) })
        hash.append(field: series.source.module)
        hash.append(field: series.source.fileID.map { String($0.split(separator: "/").last ?? "") })
        hash.append(field: series.source.function)
        hash.append(UInt64(series.template.count))
        hash.append(series.template)
        if MessageTemplate.consistsOfValues(series.template) {
            hash.append(field: series.source.line.map { String($0) })
            hash.append(field: series.source.column.map { String($0) })
        }
        return String(hexadecimal: hash.finish(), width: 16)
    }

    /// Returns the key of a group, from which the id that clients see is made.
    ///
    /// It depends only on user, application and fingerprint, so the same group has the same id in a new database,
    /// unless `Regrouping` has changed the group's fingerprint.
    package static func groupKey(uid: UInt32, app: String, fingerprint: String) -> UInt64 {
        var hash = SipHash(key0: 1)
        hash.append(UInt64(uid))
        hash.append(field: app)
        hash.append(field: fingerprint)
        return hash.finish()
    }
}

/// Decides how existing groups are moved to the newest version of the fingerprint rule.
package enum Regrouping {
    /// The stored attributes of a group whose fingerprint may have been computed by an older version of the rule.
    package struct Subject: Equatable, Sendable {
        /// The group's current fingerprint.
        package var fingerprint: String
        /// A series of the group, preferably one without a fingerprint chosen by the sender, or the attributes of the
        /// group if it has no series. Nil if the new fingerprint cannot be computed.
        package var series: SeriesDescription?
        /// The name of the application that the fingerprint covers.
        package var app: String
        /// The first message of the group, in UTF-8; nil if it is unknown.
        package var message: [UInt8]?

        package init(fingerprint: String, series: SeriesDescription?, app: String, message: [UInt8]? = nil) {
            self.fingerprint = fingerprint
            self.series = series
            self.app = app
            self.message = message
        }
    }

    /// What happens to a group.
    package enum Decision: Equatable, Sendable {
        /// The fingerprint stays the same.
        case keep
        /// The group gets this fingerprint and keeps its id.
        case change(fingerprint: String)
        /// The series of the group move to this other group. The id of the emptied group then refers to that group.
        case merge(into: GroupID)
    }

    /// Decides what happens to a group.
    ///
    /// - Parameters:
    ///   - fingerprint: The group's current fingerprint.
    ///   - newFingerprint: Its fingerprint by the newest rule; nil if it was chosen by the sender or can't be computed.
    ///   - holder: Another group of the account that already has the new fingerprint; nil if there is none.
    package static func decision(fingerprint: String, newFingerprint: String?, holder: GroupID?) -> Decision {
        guard let newFingerprint, newFingerprint != fingerprint else { return .keep }
        if let holder { return .merge(into: holder) }
        return .change(fingerprint: newFingerprint)
    }

    /// Returns the fingerprint of a group by the newest rule; nil if it was chosen by the sender or can't be computed.
    ///
    /// A template with values of the sender is kept. Otherwise the template is computed again: from the first message
    /// of the group or, if that is unknown, from the present template with an example for each placeholder.
    package static func fingerprint(of subject: Subject) -> String? {
        guard var series = subject.series, series.fingerprint?.isEmpty ?? true else { return nil }
        series.fingerprint = nil
        // The sender's own template does not depend on the rule.
        if !series.template.contains(MessageTemplate.Placeholder.value.rawValue) {
            series.template = template(of: subject.message ?? example(of: series.template))
        }
        return Fingerprint.of(series, app: subject.app)
    }

    /// Returns a template with an example in place of each placeholder.
    ///
    /// The placeholders may come from any version of the rule.
    package static func example(of template: [UInt8]) -> [UInt8] {
        var message: [UInt8] = []
        for byte in template {
            if let placeholder = MessageTemplate.Placeholder(rawValue: byte) {
                message += placeholder.example.utf8
            } else {
                message.append(byte)
            }
        }
        return message
    }

    /// Returns the template that a title shows; nil if the title may have been cut. A title shows only the first line
    /// of the group's template or, if that line is empty, the domain or `(no message)`.
    ///
    /// - Parameters:
    ///   - title: The title of the group.
    ///   - source: The source location of the group. The title ends with it if the template consists of values.
    package static func template(ofTitle title: String, at source: SourceLocation = SourceLocation()) -> [UInt8]? {
        // Titles are cut after 200 characters (`RecordCommit.title`).
        guard title.count < 200 else { return nil }
        let place = MessageTemplate.place(of: source)
        if !place.isEmpty, title.hasSuffix(place),
            let values = template(ofTitle: String(title.dropLast(place.count))),
            MessageTemplate.consistsOfValues(values)
        {
            return values
        }
        var template: [UInt8] = []
        var rest = title[...]
        scan: while let character = rest.first {
            if character == "<" {
                for placeholder in MessageTemplate.Placeholder.allCases where rest.hasPrefix(placeholder.word) {
                    template.append(placeholder.rawValue)
                    rest = rest.dropFirst(placeholder.word.count)
                    continue scan
                }
            }
            template += String(character).utf8
            rest = rest.dropFirst()
        }
        return template
    }

    private static func template(of message: [UInt8]) -> [UInt8] {
        var (template, parts) = (ByteBuffer(), ByteBuffer())
        _ = MessageTemplate.append(
            messageIn: message.span, from: 0, to: message.count, limit: RecordLimits().templateBytes,
            template: &template, parts: &parts)
        return template[0..<template.count]
    }
}

extension MessageTemplate.Placeholder {
    /// An example of a text that this placeholder replaces.
    fileprivate var example: String {
        switch self {
        case .number, .value: "7"
        case .hexadecimal: "0x7f"
        case .uuid: "550e8400-e29b-41d4-a716-446655440000"
        case .quoted: "'a'"
        case .path: "/a"
        case .address: "10.0.0.1"
        }
    }
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012), the hash for stored values. It is the same on every host.
package struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var pending: UInt64 = 0
    private var pendingCount = 0
    private var count: UInt64 = 0

    package init(key0: UInt64 = 0, key1: UInt64 = 0) {
        v0 = key0 ^ 0x736F_6D65_7073_6575
        v1 = key1 ^ 0x646F_7261_6E64_6F6D
        v2 = key0 ^ 0x6C79_6765_6E65_7261
        v3 = key1 ^ 0x7465_6462_7974_6573
    }

    package mutating func append(_ byte: UInt8) {
        pending |= UInt64(byte) << UInt64(8 * pendingCount)
        pendingCount += 1
        count &+= 1
        if pendingCount == 8 { compress() }
    }

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// Appends bytes. The generic overload takes ten times as long for callers in other modules, where it is not
    /// specialised.
    package mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

    private mutating func append(_ span: Span<UInt8>) {
        var index = 0
        while index &+ 8 <= span.count {
            append(span.word(at: index))
            index &+= 8
        }
        while index < span.count {
            append(span[index])
            index &+= 1
        }
    }

    /// Appends a number as eight bytes in little-endian order.
    package mutating func append(_ number: UInt64) {
        let bits = UInt64(8 * pendingCount)
        let kept = pendingCount
        pending |= number << bits
        compress()
        // A shift by all 64 bits leaves 0.
        pending = number >> (64 - bits)
        pendingCount = kept
        count &+= 8
    }

    /// Appends a text preceded by its length, so that `ab`, `c` and `a`, `bc` have different hashes. Nil differs
    /// from an empty text.
    package mutating func append(field: String?) {
        guard let field else { return append(UInt64.max) }
        append(UInt64(field.utf8.count))
        append(field.utf8.span)
    }

    /// Returns the hash of everything that was appended.
    package consuming func finish() -> UInt64 {
        pending |= count << 56
        compress()
        v2 ^= 0xFF
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func compress() {
        v3 ^= pending
        round()
        round()
        v0 ^= pending
        pending = 0
        pendingCount = 0
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, 13) ^ v0
        v0 = Self.rotate(v0, 32)
        v2 &+= v3
        v3 = Self.rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, 17) ^ v2
        v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 {
        word << bits | word >> (64 - bits)
    }
}

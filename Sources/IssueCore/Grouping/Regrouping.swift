package import IssueProtocol

/// Moves existing groups to the newest version of the fingerprint rule.
package enum Regrouping {
    /// The stored attributes of a group whose fingerprint was computed by an older version of the rule.
    package struct Subject: Equatable, Sendable {
        /// The group's current fingerprint.
        package var fingerprint: String
        /// A series of the group whose fingerprint was computed, or the attributes of the group if it has no series.
        /// Nil if all series of the group have a fingerprint chosen by the sender.
        package var series: SeriesDescription?
        /// The name of the application that the fingerprint covers.
        package var app: String
        /// The first message of the group; nil if it is no longer stored.
        package var message: [UInt8]?

        package init(fingerprint: String, series: SeriesDescription?, app: String, message: [UInt8]? = nil) {
            self.fingerprint = fingerprint
            self.series = series
            self.app = app
            self.message = message
        }
    }

    /// The change of a group.
    package enum Decision: Equatable, Sendable {
        /// The fingerprint stays the same.
        case keep
        /// The group gets this fingerprint and keeps its id.
        case change(fingerprint: String)
        /// The series of the group move to another group, and its id refers to that group from then on.
        case merge(into: GroupID)
    }

    /// Decides what happens to a group.
    ///
    /// - Parameters:
    ///   - fingerprint: The group's current fingerprint.
    ///   - newFingerprint: Its fingerprint by the newest rule; nil if it was chosen by the sender or can't be computed.
    ///   - holder: The other group of the account that has the new fingerprint; nil if there is none.
    package static func decision(fingerprint: String, newFingerprint: String?, holder: GroupID?) -> Decision {
        guard let newFingerprint, newFingerprint != fingerprint else { return .keep }
        if let holder { return .merge(into: holder) }
        return .change(fingerprint: newFingerprint)
    }

    /// Returns the fingerprint of a group by the newest rule; nil if it was chosen by the sender.
    ///
    /// It is computed from the first message of the group if that is stored. Otherwise it is computed from the
    /// template, with an example for each placeholder.
    package static func fingerprint(of subject: Subject) -> String? {
        guard var series = subject.series, series.fingerprint?.isEmpty ?? true else { return nil }
        series.fingerprint = nil
        // The sender's own template does not depend on the rule.
        if !series.template.contains(MessageTemplate.Placeholder.value.rawValue) {
            series.template = template(of: subject.message ?? example(of: series.template))
        }
        return Fingerprint.of(series, app: subject.app)
    }

    /// Returns a message that has this template.
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

    /// Returns the template of a group from its title; nil if the title does not contain the whole template.
    ///
    /// - Parameters:
    ///   - title: The title of the group.
    ///   - source: The source location of the group. The title ends with it if the template consists of values.
    package static func template(ofTitle title: String, at source: SourceLocation = SourceLocation()) -> [UInt8]? {
        // Titles are cut after this number of characters.
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
    /// A text that every version of the rule replaces by a placeholder.
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

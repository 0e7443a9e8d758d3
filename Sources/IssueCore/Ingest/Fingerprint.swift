package import IssueProtocol

/// Computes the fingerprint that identifies an issue. It is the same on every host and for every user.
package enum Fingerprint {
    /// The version of the rule below. A changed rule gets the next number, and existing groups are moved to it
    /// (`Regrouping`).
    package static let rule: Int64 = 2

    /// Returns the fingerprint of a series: the sender's own if it gave one, otherwise sixteen hexadecimal digits.
    ///
    /// It covers the application, domain, code if given, module, the file's base name, function and the message's
    /// template. It does not cover stack frames. It covers line and column only if the template consists of the
    /// sender's values, because nothing else distinguishes such messages.
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
        return hexadecimal(hash.finish())
    }

    /// Returns the number that a group's id is made of.
    ///
    /// It depends on user, application and fingerprint only, so the same group has the same id in a new database.
    package static func groupKey(uid: UInt32, app: String, fingerprint: String) -> UInt64 {
        var hash = SipHash(key0: 1)
        hash.append(UInt64(uid))
        hash.append(field: app)
        hash.append(field: fingerprint)
        return hash.finish()
    }

    /// Returns a number as sixteen hexadecimal digits.
    package static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The common text of similar messages, with numbers, names and addresses replaced by placeholders.
///
/// A placeholder is a single control character, so it cannot be confused with a sender's text. A message that contains
/// control characters itself is stored whole in addition to its template. The replaced parts are stored in order,
/// separated by `separator`, and restore the message exactly.
package enum MessageTemplate {
    /// The kind of text that was replaced. Rule 2 does not use `hexadecimal`, which occurs in templates of rule 1.
    package enum Placeholder: UInt8, CaseIterable, Sendable {
        /// A number, a date, a word that contains a digit, a value after a key, or a list of these.
        case number = 1
        case hexadecimal
        case uuid
        case quoted
        case path
        case address
        /// A value that the sender gave separately from the constant text.
        case value

        /// The text shown to people.
        package var word: String {
            switch self {
            case .number: "<n>"
            case .hexadecimal: "<hex>"
            case .uuid: "<uuid>"
            case .quoted: "<quoted>"
            case .path: "<path>"
            case .address: "<address>"
            case .value: "<value>"
            }
        }
    }

    /// The byte between two parts. It never occurs in a message that is stored as parts.
    package static let separator: UInt8 = 0x1F

    /// Appends a message's template to `template` and replaces the content of `parts` with the parts left out.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the message.
    ///   - start: The index of the message's first byte.
    ///   - end: The index after the message's last byte.
    ///   - limit: The maximum number of bytes of the message that go into the template.
    ///   - template: The buffer the template is appended to.
    ///   - parts: The buffer for the parts.
    /// - Returns: The form in which the message must be stored.
    package static func append(
        messageIn bytes: Span<UInt8>, from start: Int, to end: Int, limit: Int, template: inout ByteBuffer,
        parts: inout ByteBuffer
    ) -> DecodedRecord.MessageForm {
        var last = min(end, start + limit)
        while last < end, last > start, bytes[last] & 0xC0 == 0x80 { last -= 1 }
        var reader = TemplateReader(bytes: bytes, start: start, end: last)
        parts.truncate(to: 0)
        var partCount = 0
        var isWhole = end - start > limit
        // Bytes that are neither a part nor a control character are copied in runs.
        var plain = start
        while let token = reader.next() {
            switch token {
            case .control(let index):
                template.append(bytes, from: plain, to: index)
                template.append(UInt8(ascii: " "))
                isWhole = true
                plain = index + 1
            case .part(let placeholder, let first, let last):
                template.append(bytes, from: plain, to: first)
                template.append(placeholder.rawValue)
                if partCount > 0 { parts.append(separator) }
                partCount += 1
                parts.append(bytes, from: first, to: last)
                plain = last
            }
        }
        template.append(bytes, from: plain, to: reader.end)
        if isWhole { return .whole }
        return partCount == 0 ? .template : .parts
    }

    /// Returns the message that a template and its parts represent.
    package static func message(template: [UInt8], parts: [UInt8]) -> String {
        String(decoding: messageBytes(template: template, parts: parts), as: UTF8.self)
    }

    /// Returns the bytes of the message that a template and its parts represent.
    package static func messageBytes(template: [UInt8], parts: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(template.count + parts.count)
        var part = 0
        // The text between two placeholders is copied at once.
        var plain = 0
        let bytes = template.span
        // Vectors, because the comparison of a vector with a scalar is compiled byte by byte.
        let lowest = ByteMask.Vector(repeating: Int8(Placeholder.number.rawValue))
        let highest = ByteMask.Vector(repeating: Int8(Placeholder.value.rawValue))
        while true {
            let index = bytes.scan(from: plain, to: bytes.count, for: { ($0 .>= lowest) .& ($0 .<= highest) })
            guard let next = template[index...].firstIndex(where: isPlaceholder) else { break }
            output.append(contentsOf: template[plain..<next])
            plain = next + 1
            let start = part
            while part < parts.count, parts[part] != separator { part += 1 }
            output.append(contentsOf: parts[start..<part])
            part = min(part + 1, parts.count)
        }
        output.append(contentsOf: template[plain...])
        return output
    }

    private static func isPlaceholder(_ byte: UInt8) -> Bool {
        byte >= Placeholder.number.rawValue && byte <= Placeholder.value.rawValue
    }

    /// Returns the template as a single line for people.
    ///
    /// Not generic, because generic functions are not specialised across modules.
    package static func title(of template: ArraySlice<UInt8>) -> String {
        var output: [UInt8] = []
        for byte in template {
            if let placeholder = Placeholder(rawValue: byte) {
                output.append(contentsOf: placeholder.word.utf8)
            } else {
                output.append(byte < 0x20 ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

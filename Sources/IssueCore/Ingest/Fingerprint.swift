package import IssueProtocol

/// What makes two records the same issue; the same on every host and for every user.
package enum Fingerprint {
    /// The number of the rule below. A change of the rule gets the next one, and old groups keep theirs.
    package static let rule: Int64 = 1

    /// The fingerprint of a series: the sender's own if it gave one, else sixteen hexadecimal digits.
    ///
    /// Application, domain, code if it was given, module, the file's base name,
    /// the function and the message's template. No line numbers, no frames.
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
        return hexadecimal(hash.finish())
    }

    /// The number behind a group's id: of its user, application and fingerprint, so that the same group has the same id
    /// in a fresh database too.
    package static func groupKey(uid: UInt32, app: String, fingerprint: String) -> UInt64 {
        var hash = SipHash(key0: 1)
        hash.append(UInt64(uid))
        hash.append(field: app)
        hash.append(field: fingerprint)
        return hash.finish()
    }

    /// Sixteen hexadecimal digits.
    package static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// What messages of one kind have in common: their text with numbers, names and addresses taken out.
///
/// A placeholder is one control character, so that it can't be confused with
/// what a sender wrote: a message that holds such characters itself is kept
/// whole beside its template. The parts taken out are kept in order, divided by
/// `separator`, and give the message back exactly.
package enum MessageTemplate {
    /// What a placeholder stands for.
    package enum Placeholder: UInt8, CaseIterable, Sendable {
        case number = 1
        case hexadecimal
        case uuid
        case quoted
        case path
        case address

        /// How people read it.
        package var word: String {
            switch self {
            case .number: "<n>"
            case .hexadecimal: "<hex>"
            case .uuid: "<uuid>"
            case .quoted: "<quoted>"
            case .path: "<path>"
            case .address: "<address>"
            }
        }
    }

    /// Between two parts; never in a message that is kept as parts.
    package static let separator: UInt8 = 0x1F

    /// Appends the template of the message in a range of bytes, and the parts it leaves out to `parts`.
    ///
    /// - Returns: how the message can be given back.
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
        // What is neither a part nor a control character goes over in one piece with its like.
        var plain = start
        while let token = reader.next() {
            switch token {
            case .control(let place):
                template.append(bytes, from: plain, to: place)
                template.append(UInt8(ascii: " "))
                isWhole = true
                plain = place + 1
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

    /// The message that a template and its parts give back.
    package static func message(template: [UInt8], parts: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(template.count + parts.count)
        var rest = parts[...]
        for byte in template {
            guard Placeholder(rawValue: byte) != nil else {
                output.append(byte)
                continue
            }
            let end = rest.firstIndex(of: separator) ?? rest.endIndex
            output.append(contentsOf: rest[..<end])
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The template as people read it, on one line.
    package static func title(of template: some Sequence<UInt8>) -> String {
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

extension MessageTemplate {
    /// The message that a template and its parts give back; for bytes as they are stored, which is what is asked most.
    package static func text(template: [UInt8], parts: [UInt8]) -> String {
        message(template: template, parts: parts)
    }
}

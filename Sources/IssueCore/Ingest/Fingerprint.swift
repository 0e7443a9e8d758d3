import IssueProtocol

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

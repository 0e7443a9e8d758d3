import IssueProtocol

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
        return String(hexadecimal: hash.finish(), width: 16)
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
}

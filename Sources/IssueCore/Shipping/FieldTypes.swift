/// The type that each field has at a destination, which its first value fixes for ever.
package struct FieldTypes: Equatable, Sendable {
    package enum Kind: Int64, CaseIterable, Hashable, Sendable {
        case string
        case integer
        case number
        case bool
        case object
    }

    /// How many fields of the senders' own are made at a destination.
    package static let most = 500

    private var kinds: [String: Kind] = [:]
    private var added: [String] = []

    package init(_ kinds: [String: Kind] = [:]) {
        self.kinds = kinds
    }

    package enum Verdict: Equatable, Sendable {
        /// The value goes as it is.
        case fits
        /// The field has another type already, or there are too many fields: the value goes as text elsewhere.
        case doesNotFit
    }

    /// A value is about to be sent under a path.
    package mutating func met(_ kind: Kind, at path: String) -> Verdict {
        if let known = kinds[path] {
            return known == kind || (known == .number && kind == .integer) ? .fits : .doesNotFit
        }
        guard kinds.count < Self.most else { return .doesNotFit }
        kinds[path] = kind
        added.append(path)
        return .fits
    }

    /// The type that a field is known to have; what an object stands in is an object, too.
    package func kind(at path: String) -> Kind? { kinds[path] }

    /// What has been fixed since this was asked last, to be stored.
    package mutating func takeAdded() -> [String: Kind] {
        defer { added.removeAll() }
        return Dictionary(added.compactMap { path in kinds[path].map { (path, $0) } }) { $1 }
    }
}

import HTTPShipping

/// A kind of store, or of way to one, that a team runs itself.
package struct OwnStoreKind: Sendable {
    let format: any StoreFormat.Type

    init(_ format: any StoreFormat.Type) {
        self.format = format
    }

    /// The name of its section.
    package var section: String { format.section }

    /// The word in `status` for it, and the name of the one whose section has none.
    package var word: String { format.kind }

    static func named(_ section: String) -> OwnStoreKind? { all.first { $0.section == section } }
}

extension OwnStoreKind: Hashable {
    package static func == (one: OwnStoreKind, other: OwnStoreKind) -> Bool { one.section == other.section }

    package func hash(into hasher: inout Hasher) { hasher.combine(section) }
}

/// What a user reports under more names than he may, so that the guard keeps the rest together.
package struct Crowding: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case applications
        case senders
        /// Of one application.
        case issues
        /// Of one issue.
        case variants
    }

    package var uid: UInt32
    package var kind: Kind

    package init(uid: UInt32, kind: Kind) {
        self.uid = uid
        self.kind = kind
    }
}

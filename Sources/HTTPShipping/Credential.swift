package import IssueCore

/// What a destination is shown to be let in, read anew when it may have changed; many need none.
package struct Credential: Sendable {
    private let read: (@Sendable () -> ShippingToken?)?
    package private(set) var token: ShippingToken?

    /// - Parameter read: Reads it, or answers nothing where it is gone; nothing itself where none is needed.
    package init(_ read: (@Sendable () -> ShippingToken?)?) {
        self.read = read
        token = read?()
    }

    /// It is needed, and is not there.
    package var isMissing: Bool { read != nil && token == nil }

    /// What comes of sending where it is missing.
    package static var missing: DeliveryAnswer {
        DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no credential to send with"))
    }

    /// Reads it again, and says whether it is another one now.
    package mutating func reread() -> Bool {
        let old = token
        token = read?()
        return token != nil && token != old
    }
}

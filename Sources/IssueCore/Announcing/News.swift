/// A record that operators are told of.
package struct News: Equatable, Sendable {
    package var record: Int64
    package var reason: ExpressReason
    /// The user who answers for the sender.
    package var uid: UInt32

    package init(record: Int64, reason: ExpressReason, uid: UInt32) {
        self.record = record
        self.reason = reason
        self.uid = uid
    }
}

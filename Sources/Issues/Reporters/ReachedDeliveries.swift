/// Which buffers one issue has entered.
///
/// It enters each once, however many reporters of the list lead there.
struct ReachedDeliveries {
    private var identities: [ObjectIdentifier] = []

    /// Notes a buffer; false when the issue is there already.
    mutating func insert(_ delivery: Delivery) -> Bool {
        let identity = ObjectIdentifier(delivery)
        guard !identities.contains(identity) else { return false }
        identities.append(identity)
        return true
    }
}

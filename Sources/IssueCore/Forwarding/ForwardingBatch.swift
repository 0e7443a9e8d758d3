/// A stored batch, as far as the forwarding machine has to know it.
package struct ForwardingBatch: Equatable, Sendable {
    package var id: Int64
    /// Its lines.
    package var count: Int
    /// Of all its lines, before compression.
    package var bytes: Int
    /// It goes before all others.
    package var isExpress: Bool
    /// Lines that were sent in the time before the start, and of which nobody knows whether they arrived.
    package var doubts: LineSet

    package init(id: Int64, count: Int, bytes: Int, isExpress: Bool = false, doubts: LineSet = LineSet()) {
        self.id = id
        self.count = count
        self.bytes = bytes
        self.isExpress = isExpress
        self.doubts = doubts
    }
}

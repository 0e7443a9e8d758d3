/// A stored batch, as far as the forwarding machine has to know it.
package struct ForwardingBatch: Equatable, Sendable {
    package var id: Int64
    /// Its lines.
    package var count: Int
    /// Of all its lines, before compression.
    package var bytes: Int

    package init(id: Int64, count: Int, bytes: Int) {
        self.id = id
        self.count = count
        self.bytes = bytes
    }
}

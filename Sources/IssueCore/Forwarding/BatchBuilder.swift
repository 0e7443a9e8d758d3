/// Gathers records for one request until it is full.
package struct BatchBuilder: Equatable, Sendable {
    package let limit: BatchLimit
    package private(set) var count = 0
    package private(set) var bytes = 0

    package init(limit: BatchLimit) {
        self.limit = limit
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count >= limit.records || bytes >= limit.bytes }

    /// A record goes with the batch; one that was admitted always does, so the last may lie above the limit.
    package mutating func add(bytes size: Int) {
        count += 1
        bytes += size
    }
}

/// Gathers records for one request until it is full.
package struct BatchBuilder: Equatable, Sendable {
    package let limit: BatchLimit
    package private(set) var ids: [Int64] = []
    package private(set) var bytes = 0

    package init(limit: BatchLimit) {
        self.limit = limit
    }

    package var isEmpty: Bool { ids.isEmpty }
    package var isFull: Bool { ids.count >= limit.records || bytes >= limit.bytes }

    /// A record goes with the batch; one that was admitted always does, so the last may lie above the limit.
    package mutating func add(_ id: Int64, bytes size: Int) {
        ids.append(id)
        bytes += size
    }
}

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

    /// Whether the record found room; if not, it goes into the next batch.
    ///
    /// - Note: The first always does, however long its line, or it would never go.
    package mutating func add(_ id: Int64, bytes size: Int) -> Bool {
        guard ids.isEmpty || (ids.count < limit.records && bytes + size <= limit.bytes) else { return false }
        ids.append(id)
        bytes += size
        return true
    }
}

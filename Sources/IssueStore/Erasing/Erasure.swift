/// What the erasing of some records has come to.
package struct Erasure: Equatable, Sendable {
    package var records: Int64 = 0
    /// Whose series they were; what is left of those is for the end of the erasing to see.
    package var series: Set<Int64> = []
    /// How many of them each destination has, or is just being given.
    package var delivered: [String: Int64] = [:]

    package init() {}

    package mutating func add(_ other: Erasure) {
        records += other.records
        series.formUnion(other.series)
        delivered.merge(other.delivered) { $0 + $1 }
    }
}

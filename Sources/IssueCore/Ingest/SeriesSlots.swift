/// Numbers the series that occur, each the first time it is met.
///
/// A range asks it for each of its records while a commit waits, so it is one
/// look into a table that is never more than half full.
struct SeriesSlots {
    /// The series met so far, by their numbers.
    private(set) var series: [Int64] = []
    private var table = [UInt32](repeating: 0, count: 256)

    /// The number of a series, counted from nothing.
    @inline(__always)
    mutating func slot(of wanted: Int64) -> Int {
        var place = place(of: wanted)
        while true {
            let number = Int(table[place])
            if number == 0 { break }
            if series[number &- 1] == wanted { return number &- 1 }
            place = (place &+ 1) & (table.count &- 1)
        }
        series.append(wanted)
        table[place] = UInt32(series.count)
        if 2 * series.count > table.count { grow() }
        return series.count - 1
    }

    @inline(__always)
    private func place(of series: Int64) -> Int {
        let mixed = UInt64(bitPattern: series) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (table.count &- 1)
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: 4 * table.count)
        for (index, met) in series.enumerated() {
            var place = place(of: met)
            while table[place] != 0 { place = (place + 1) & (table.count - 1) }
            table[place] = UInt32(index + 1)
        }
    }
}

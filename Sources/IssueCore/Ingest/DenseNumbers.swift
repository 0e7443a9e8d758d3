/// Numbers the ids that occur, from nothing on, each the first time it is met.
///
/// It is asked for each record while a commit waits, so it is one look into a
/// table that is never more than half full.
package struct DenseNumbers {
    /// The ids met so far, by their numbers.
    package private(set) var ids: [Int64] = []
    private var table = [UInt32](repeating: 0, count: 256)

    package init() {}

    /// The number of an id.
    package mutating func number(of id: Int64) -> Int {
        var place = place(of: id)
        while true {
            let number = Int(table[place])
            if number == 0 { break }
            if ids[number &- 1] == id { return number &- 1 }
            place = (place &+ 1) & (table.count &- 1)
        }
        ids.append(id)
        table[place] = UInt32(ids.count)
        if 2 * ids.count > table.count { grow() }
        return ids.count - 1
    }

    @inline(__always)
    private func place(of id: Int64) -> Int {
        let mixed = UInt64(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (table.count &- 1)
    }

    private mutating func grow() {
        table = [UInt32](repeating: 0, count: 4 * table.count)
        for (number, id) in ids.enumerated() {
            var place = place(of: id)
            while table[place] != 0 { place = (place + 1) & (table.count - 1) }
            table[place] = UInt32(number + 1)
        }
    }
}

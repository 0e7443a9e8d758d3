import IssueProtocol

/// A record as a database that was set aside still has it.
struct SalvagedRecord {
    /// What belonged to it and can't be read any more.
    enum Loss: String, Comparable {
        case sender, series

        static func < (one: Loss, other: Loss) -> Bool { one.rawValue < other.rawValue }
    }

    /// Where it was there, which is also its number when it is brought over.
    var row: Int64
    /// The row of the process that has reported it there.
    var process: Int64
    var startTime: Int64
    var stored: StoredRecord
    var losses: Set<Loss>
    /// How many bytes of it can be long.
    var bytes: Int
    /// Whether some destination still had to be given it.
    var isPending = true
}

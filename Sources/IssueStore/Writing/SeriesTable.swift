import IssueCore
import IssueProtocol

/// The series seen lately, so that finding a record's series is one look-up and no query.
///
/// Open addressing over a power of two of slots; entries are compared by all
/// of their bytes, so the quick hash need not be trusted. When it holds too
/// many it forgets them all: the database knows them.
struct SeriesTable {
    struct Entry {
        var hash: UInt64
        var sender: Int64
        var key: ByteRange
        var id: Int64
        var account: Int64
    }

    static let capacity = 32_768

    private var slots: [UInt32]
    private var entries: [Entry] = []
    private var keys = ByteBuffer()

    /// Stands where another will stand again, and takes no memory.
    static let placeholder = SeriesTable(slots: [])

    init() {
        self.init(slots: [UInt32](repeating: 0, count: 1024))
    }

    private init(slots: [UInt32]) {
        self.slots = slots
    }

    var isFull: Bool { entries.count >= Self.capacity || keys.count > 16 << 20 }

    /// The series of a sender with a key that lies in a range of bytes.
    @inline(__always)
    func find(hash: UInt64, sender: Int64, key: ByteRange, in bytes: Span<UInt8>) -> Entry? {
        let mask = slots.count &- 1
        var slot = Int(truncatingIfNeeded: hash ^ UInt64(truncatingIfNeeded: sender)) & mask
        while true {
            let index = slots[slot]
            guard index > 0 else { return nil }
            let entry = entries[Int(index) &- 1]
            if entry.hash == hash, entry.sender == sender, entry.key.count == key.count,
                bytes.equals(from: key.lower, keys.span, from: entry.key.lower, count: Int(key.count))
            {
                return entry
            }
            slot = (slot &+ 1) & mask
        }
    }

    mutating func insert(
        hash: UInt64, sender: Int64, key: ByteRange, in bytes: Span<UInt8>, id: Int64, account: Int64
    ) -> Entry {
        if 2 * (entries.count + 1) > slots.count { grow() }
        let start = keys.count
        keys.append(bytes, from: key.lower, to: key.upper)
        let entry = Entry(
            hash: hash, sender: sender, key: ByteRange(from: start, to: keys.count), id: id, account: account)
        entries.append(entry)
        place(entries.count - 1)
        return entry
    }

    mutating func removeAll() {
        slots = [UInt32](repeating: 0, count: 1024)
        entries = []
        keys = ByteBuffer()
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: 4 * slots.count)
        for index in entries.indices { place(index) }
    }

    private mutating func place(_ index: Int) {
        let entry = entries[index]
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: entry.hash ^ UInt64(truncatingIfNeeded: entry.sender)) & mask
        while slots[slot] > 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(index + 1)
    }
}

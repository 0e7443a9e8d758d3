import IssueProtocol

/// Finds a record's member by its key, in one look mostly.
struct RecordMemberTable: Sendable {
    private struct Slot {
        var key: JSONKey
        var member: RecordMember
        var container: RecordContainer
    }

    private static let bits = 7
    private var slots = [Slot?](repeating: nil, count: 1 << bits)

    init() {
        for member in RecordMember.allCases {
            let key = JSONKey(member.key)
            var index = key.hash(bits: Self.bits)
            while slots[index] != nil { index = Self.next(index) }
            slots[index] = Slot(key: key, member: member, container: member.container)
        }
    }

    /// The member that a key names in an object, or nothing for one that nobody knows.
    @inline(__always)
    func member(_ key: JSONKey, in container: RecordContainer) -> RecordMember? {
        var index = key.hash(bits: Self.bits)
        while let slot = slots[index] {
            if slot.key == key { return slot.container == container ? slot.member : nil }
            index = Self.next(index)
        }
        return nil
    }

    @inline(__always)
    private static func next(_ index: Int) -> Int { (index &+ 1) & (1 << bits - 1) }
}

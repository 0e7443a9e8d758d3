import IssueProtocol

/// Finds a record's member by its key, in one look mostly.
///
/// A program writes the members of its records in the same order always, so
/// that the one that is expected next is looked for first.
struct RecordMemberTable: Sendable {
    private struct Slot {
        var key: JSONKey
        var member: RecordMember
        var container: RecordContainer
    }

    /// What followed a member when it was met last.
    private struct Follower {
        var member = RecordMember.message
        var container = RecordContainer.record
        var literal: JSONKeyLiteral?
    }

    private static let bits = 7
    /// The member that was met last, or none at the beginning of a record.
    private var last = Self.beginning
    private static let beginning = RecordMember.allCases.count
    private var followers = InlineArray<27, Follower>(repeating: Follower())
    private var literals: [JSONKeyLiteral?] = RecordMember.allCases.map { JSONKeyLiteral($0.key) }
    private var slots = [Slot?](repeating: nil, count: 1 << bits)

    init() {
        for member in RecordMember.allCases {
            let key = JSONKey(member.key)
            var index = key.hash(bits: Self.bits)
            while slots[index] != nil { index = Self.next(index) }
            slots[index] = Slot(key: key, member: member, container: member.container)
        }
    }

    /// A record begins.
    mutating func begin() {
        last = Self.beginning
    }

    /// Passes the key of the member that followed the last one before, if it does so again.
    @inline(__always)
    mutating func passExpected(_ scanner: inout JSONScanner, in container: RecordContainer) -> RecordMember? {
        guard let literal = followers[last].literal, followers[last].container == container,
            scanner.passKey(literal)
        else { return nil }
        let member = followers[last].member
        last = Int(member.rawValue)
        return member
    }

    /// The member that a key names in an object, or nothing for one that nobody knows.
    mutating func member(_ key: JSONKey, in container: RecordContainer) -> RecordMember? {
        var index = key.hash(bits: Self.bits)
        while let slot = slots[index] {
            if slot.key == key {
                guard slot.container == container else { return nil }
                let place = Int(slot.member.rawValue)
                followers[last] = Follower(member: slot.member, container: container, literal: literals[place])
                last = place
                return slot.member
            }
            index = Self.next(index)
        }
        return nil
    }

    @inline(__always)
    private static func next(_ index: Int) -> Int { (index &+ 1) & (1 << bits - 1) }
}

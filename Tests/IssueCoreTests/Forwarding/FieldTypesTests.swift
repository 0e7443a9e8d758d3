import IssueCore
import Testing

@Suite("The types of fields at a destination")
struct FieldTypesTests {
    @Test("The type of a field at a destination is fixed by its first value")
    func fixes() {
        var types = FieldTypes()
        #expect(types.record(.integer, at: "attempt", by: 1000) == true)
        #expect(types.record(.integer, at: "attempt", by: 1000) == true)
        for kind in FieldTypes.Kind.allCases where kind != .integer {
            #expect(types.record(kind, at: "attempt", by: 1000) == false)
        }
        #expect(types.record(.string, at: "other", by: 1000) == true)
    }

    @Test("A number field at a destination accepts integers, but an integer field accepts no other numbers")
    func widens() {
        var types = FieldTypes(["load": .number, "attempt": .integer])
        #expect(types.record(.integer, at: "load", by: 1000) == true)
        #expect(types.record(.number, at: "load", by: 1000) == true)
        #expect(types.record(.number, at: "attempt", by: 1000) == false)
        #expect(types.takeAdded().isEmpty)
    }

    @Test("New types of fields at a destination are returned once, to be stored")
    func givesOut() {
        var types = FieldTypes(["known": .bool])
        _ = types.record(.bool, at: "known", by: 1000)
        _ = types.record(.object, at: "new", by: 1000)
        _ = types.record(.string, at: "new", by: 1000)
        #expect(types.takeAdded() == ["new": .object])
        #expect(types.takeAdded().isEmpty)
    }

    @Test("The number of fields whose types are known at a destination is limited")
    func bounds() {
        var types = FieldTypes(Dictionary(uniqueKeysWithValues: (1..<FieldTypes.maxFields).map { ("f\($0)", .string) }))
        #expect(types.record(.bool, at: "last", by: 1000) == true)
        #expect(types.record(.bool, at: "one too many", by: 1000) == false)
        #expect(types.record(.bool, at: "last", by: 1000) == true)
        #expect(types.record(.string, at: "f1", by: 1000) == true)
        #expect(types.takeAdded() == ["last": .bool])
    }

    @Test("A user who has added many fields leaves the last hundred to others")
    func fairShare() {
        var types = FieldTypes()
        for number in 0..<FieldTypes.maxFields { _ = types.record(.string, at: "f\(number)", by: 1000) }
        #expect(types.takeAdded().count == FieldTypes.maxFields - FieldTypes.reservedFields)
        for user in UInt32(1001)...1005 {
            for number in 0..<FieldTypes.fewFields { _ = types.record(.bool, at: "\(user) \(number)", by: user) }
        }
        #expect(types.takeAdded().count == FieldTypes.reservedFields)
        let isAdded = types.record(.bool, at: "one too many", by: 1006)
        #expect(!isAdded)
    }
}

import IssueCore
import Testing

@Suite("The types of fields at a destination")
struct FieldTypesTests {
    @Test("The types of fields at a destination are fixed by the first value")
    func fixes() {
        var types = FieldTypes()
        #expect(types.record(.integer, at: "attempt") == true)
        #expect(types.record(.integer, at: "attempt") == true)
        for kind in FieldTypes.Kind.allCases where kind != .integer {
            #expect(types.record(kind, at: "attempt") == false)
        }
        #expect(types.record(.string, at: "other") == true)
    }

    @Test("The types of fields at a destination allow integers in number fields, but no fractions in integer fields")
    func widens() {
        var types = FieldTypes(["load": .number, "attempt": .integer])
        #expect(types.record(.integer, at: "load") == true)
        #expect(types.record(.number, at: "load") == true)
        #expect(types.record(.number, at: "attempt") == false)
        #expect(types.takeAdded().isEmpty)
    }

    @Test("The types of fields at a destination are returned once to be stored")
    func givesOut() {
        var types = FieldTypes(["known": .bool])
        _ = types.record(.bool, at: "known")
        _ = types.record(.object, at: "new")
        _ = types.record(.string, at: "new")
        #expect(types.takeAdded() == ["new": .object])
        #expect(types.takeAdded().isEmpty)
    }

    @Test("The types of fields at a destination are limited in number")
    func bounds() {
        var types = FieldTypes(Dictionary(uniqueKeysWithValues: (1..<FieldTypes.maxFields).map { ("f\($0)", .string) }))
        #expect(types.record(.bool, at: "last") == true)
        #expect(types.record(.bool, at: "one too many") == false)
        #expect(types.record(.bool, at: "last") == true)
        #expect(types.record(.string, at: "f1") == true)
        #expect(types.takeAdded() == ["last": .bool])
    }
}

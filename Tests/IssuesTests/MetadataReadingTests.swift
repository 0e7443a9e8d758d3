import IssueProtocol
import Issues
import Testing

@Suite("Reading metadata")
struct MetadataReadingTests {
    @Test("Each kind of value can be read only as its own type, and an integer also as a number")
    func kinds() {
        func kinds(_ value: IssueMetadata.Value) -> [String] {
            var kinds: [String] = []
            if value.text != nil { kinds.append("text") }
            if value.integer != nil { kinds.append("integer") }
            if value.number != nil { kinds.append("number") }
            if value.bool != nil { kinds.append("bool") }
            if value.list != nil { kinds.append("list") }
            if value.dictionary != nil { kinds.append("dictionary") }
            if value.isNull { kinds.append("null") }
            return kinds
        }
        #expect(kinds("shelf") == ["text"])
        #expect(kinds(7) == ["integer", "number"])
        #expect(kinds(0.5) == ["number"])
        #expect(kinds(true) == ["bool"])
        #expect(kinds([1]) == ["list"])
        #expect(kinds(["a": 1]) == ["dictionary"])
        #expect(kinds(nil) == ["null"])
    }

    @Test("Each kind of value is read with its content, including empty and nested values")
    func values() throws {
        let metadata: IssueMetadata = [
            "text": "shelf", "empty": "", "whole": -3, "number": 0.5, "no": false, "list": [1, "two", nil],
            "none": [], "object": ["k": ["l": 2]],
        ]
        #expect(metadata["text"]?.text == "shelf")
        #expect(metadata["empty"]?.text == "")
        #expect(metadata["whole"]?.integer == -3)
        #expect(metadata["whole"]?.number == -3)
        #expect(metadata["number"]?.number == 0.5)
        #expect(metadata["no"]?.bool == false)
        #expect(metadata["list"]?.list == [1, "two", nil])
        #expect(metadata["none"]?.list == [])
        #expect(metadata["object"]?.dictionary?["k"]?.dictionary?["l"]?.integer == 2)
        #expect(IssueMetadata.Value([:] as IssueMetadata).dictionary?.isEmpty == true)
    }

    @Test("A number above Int.max is read as the nearest Double, but described with all its digits")
    func largeNumbers() {
        let value = IssueMetadata.Value(UInt64.max)
        #expect(value.integer == nil)
        #expect(value.number == 18_446_744_073_709_551_616)
        #expect(value.description == "18446744073709551615")
        #expect(IssueMetadata.Value(json: .number("1e999")).number == .infinity)
        #expect(IssueMetadata.Value(json: .number("2.0")).integer == nil)
        #expect(IssueMetadata.Value(json: .number("2.0")).number == 2)
    }

    @Test("Iteration is sorted by key, regardless of the order of the literal")
    func iteration() {
        let metadata: IssueMetadata = ["b": 2, "c": [3], "a": "one"]
        var seen: [String] = []
        for (key, value) in metadata { seen.append("\(key)=\(value)") }
        #expect(seen == [#"a="one""#, "b=2", "c=[3]"])
        #expect(metadata.map(\.key) == ["a", "b", "c"])
        #expect(metadata.compactMap(\.value.integer) == [2])
        #expect(Array(IssueMetadata()).isEmpty)
    }
}

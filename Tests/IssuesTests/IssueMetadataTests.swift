import Issues
import Testing

@Suite("Metadata")
struct IssueMetadataTests {
    @Test("If a key occurs twice in a literal, the last value is used")
    func duplicates() {
        let metadata: IssueMetadata = ["a": 1, "b": 2, "a": 3]

        #expect(metadata.description == #"{"a":3,"b":2}"#)
    }

    @Test("Every kind of literal is encoded as JSON with sorted keys")
    func literals() {
        let name = "x"
        let metadata: IssueMetadata = [
            "text": "\(name) y", "whole": -3, "number": 0.5, "flag": true, "nothing": nil, "list": [1, "two", [nil]],
            "object": ["k": 1, "k": 2], "key\(name)": .init(UInt64.max), "infinite": .init(.infinity),
        ]

        #expect(
            metadata.description
                == #"{"flag":true,"infinite":"inf","keyx":18446744073709551615,"list":[1,"two",[null]],"#
                + #""nothing":null,"number":0.5,"object":{"k":2},"text":"x y","whole":-3}"#)
    }

    @Test("A typed key and a string literal access the same value")
    func typedKeys() {
        var metadata: IssueMetadata = [.attempt: 1]
        metadata["attempt"] = 2

        #expect(metadata == ["attempt": 2])
        #expect(metadata[.attempt] == 2)
    }
}

extension IssueMetadata.Key {
    fileprivate static let attempt: Self = "attempt"
}

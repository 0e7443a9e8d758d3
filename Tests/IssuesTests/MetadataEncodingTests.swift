import Foundation
import Issues
import Testing

private struct Cart: Encodable {
    enum Currency: String, Encodable { case euro }
    enum Payment: Encodable { case cash, card(number: String) }

    var id = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")
    var opened = Date(timeIntervalSince1970: 1_611_014_400.5)
    var prices: [Double] = [1.5, 2]
    var tags: Set<String> = ["new"]
    var counts: [String: UInt8] = ["a": 1]
    var currency = Currency.euro
    var payment = Payment.card(number: "17")
    var page = URL(string: "https://example.com/cart?id=1")
    var total = Decimal(string: "12.30")
    var picture = Data([1, 2, 3, 4])
    var nothing: Int?
    var huge = UInt64.max
    var ratio: Float = 0.1
    var odd = Double.nan
}

private struct Refusing: Encodable, CustomStringConvertible {
    struct Failure: Error {}
    var description: String { "refusing" }
    func encode(to encoder: any Encoder) throws { throw Failure() }
}

private struct Silent: Encodable {
    func encode(to encoder: any Encoder) {}
}

private final class SelfContainingObject: Encodable {
    var tail: SelfContainingObject { self }

    enum Keys: CodingKey { case tail }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(tail, forKey: .tail)
    }
}

/// Encodes itself recursively.
private struct SelfEncodingValue: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self)
    }
}

private struct Nested: Encodable {
    enum Keys: CodingKey { case list, object }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
        try list.encodeNil()
        var inner = list.nestedUnkeyedContainer()
        try inner.encode("deep")
        var object = container.nestedContainer(keyedBy: Keys.self, forKey: .object)
        try object.encode(true, forKey: .list)
        try 7.encode(to: container.superEncoder())
    }
}

@Suite("Metadata from Encodable values")
struct MetadataEncodingTests {
    @Test("Dates, URLs, decimals, sets, enums, optionals and all numbers are encoded in a readable form")
    func everything() {
        let metadata: IssueMetadata = ["cart": .init(Cart())]
        #expect(
            metadata["cart"]?.description
                == #"{"id":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8","opened":"2021-01-19T00:00:00.500Z","#
                + #""prices":[1.5,2.0],"tags":["new"],"counts":{"a":1},"currency":"euro","#
                + #""payment":{"card":{"number":"17"}},"page":"https://example.com/cart?id=1","total":12.3,"#
                + #""picture":"AQIDBA==","huge":18446744073709551615,"ratio":0.1,"odd":"nan"}"#)
    }

    @Test("All kinds of nested containers are encoded")
    func nested() {
        #expect(
            IssueMetadata.Value(Nested()).description
                == #"{"list":[1,null,["deep"]],"object":{"list":true},"super":7}"#)
    }

    @Test("A value that fails to encode, or encodes nothing, is replaced by its description")
    func refusing() {
        #expect(IssueMetadata.Value(Refusing()).description == #""refusing""#)
        #expect(IssueMetadata.Value([Refusing()]).description == #"["refusing"]"#)
        #expect(IssueMetadata.Value(Silent()).description.contains("Silent"))
    }

    @Test("A recursive or very large value is truncated, and large data is replaced with its size")
    func bounds() {
        let snake = IssueMetadata.Value(SelfContainingObject()).description
        #expect(snake.hasSuffix(#""…""# + String(repeating: "}", count: 24)))
        let thousands: [[String: Int]] = Array(repeating: ["k": 1], count: 100_000)
        let many = IssueMetadata.Value(thousands).description
        #expect(many.utf8.count < 100_000)
        #expect(many.hasSuffix(#"{"k":"…"}]"#))
        let bytes = IssueMetadata.Value(Data(repeating: 1, count: 1_000_000)).description
        #expect(bytes == #""1000000 bytes""#)
        #expect(IssueMetadata.Value(SelfEncodingValue()).description == #""…""#)
    }

    @Test("Plain values are not changed")
    func plain() {
        let values: [IssueMetadata.Value] = [
            .init("t"), .init(3), .init(2.5), .init(true), .init(Int8(-1)), .init(Float(0.1)),
        ]
        #expect(values.map(\.description) == [#""t""#, "3", "2.5", "true", "-1", "0.1"])
    }
}

import IssueCore
import IssueProtocol
import Testing

@Suite("A cached source or application")
struct RepeatedObjectsTests {
    private static let sources = [
        #"{"file_id":"Sources/Shop/Cart.swift","line":12,"column":3,"function":"add(_:)","module":"Shop"}"#,
        #"{"file_id":"Sources/Shop/Cart.swift","line":13,"column":3,"function":"add(_:)","module":"Shop"}"#,
        #"{"module":"Shop","line":12,"file_id":"Sources/Shop/Cart.swift"}"#,
        #"{"line":12}"#, "{}", #"{ "line" : 12 }"#, #"{"file_id":"a}b","line":1,"later":{"deep":[1,{}]}}"#,
        #"{"file_id":"\u0061","line":9,"function":"escaped, and therefore read each time anew"}"#,
        #"{"line":1,"line":null,"column":2,"function":null,"module":"twice","module":"Shop and more of it"}"#,
        #"{"file_id":"\#(String(repeating: "long/", count: 60))","line":5}"#,
    ]
    private static let apps = [
        #"{"name":"shop","version":"1.2","build":7,"environment":"production","development":false}"#,
        #"{"name":"shop","version":"1.2","build":8,"environment":"production","development":true}"#,
        #"{"name":"till"}"#, #"{"name":"till","development":null,"platform":"linux","network":"ethernet"}"#,
        // The bytes of a source, used as an application.
        #"{"file_id":"Sources/Shop/Cart.swift","line":12,"column":3,"function":"add(_:)","module":"Shop"}"#,
    ]

    /// - Parameter oddEvery: One in this many sources is chosen at random; the others are the common one.
    @Test("A cached source or application decodes to the same series in any position and order", arguments: [1, 4, 20])
    func same(oddEvery: Int) throws {
        var records: [String] = []
        var generator = SeededGenerator(seed: UInt64(oddEvery))
        for round in 0..<400 {
            let isOdd = Int.random(in: 1...oddEvery, using: &generator) == 1
            let source = isOdd ? Self.sources.randomElement(using: &generator) ?? "{}" : Self.sources[0]
            let app = Self.apps.randomElement(using: &generator) ?? "{}"
            records.append(
                round.isMultiple(of: 3)
                    ? #"{"app":\#(app),"message":"m","source":\#(source)}"#
                    : round.isMultiple(of: 7)
                        ? #"{"source":\#(source),"message":"m","app":\#(app),"source":null}"#
                        : #"{"message":"m","source":\#(source),"source":\#(source),"app":\#(app),"code":\#(round)}"#)
        }
        let together = try Decoding("[\(records.joined(separator: ","))]")
        for (index, json) in records.enumerated() {
            let alone = try Decoding("[\(json)]")
            #expect(together.series(index) == alone.series(0), "\(json)")
        }
    }

    @Test(
        "A cached source or application is not confused with one that starts with the same bytes",
        arguments: [
            #"{"line":1,"later":{"x":2},"column":9}"#, #"{"line":1,"later":"}"}"#, #"{"line":1}"#, #"{"line":1} "#,
            #"{"line":1,"later":[{"line":1},{"line":2}]}"#, #"{"line":1,"later":{"x":2}}"#,
        ])
    func beginning(source: String) throws {
        // The common source, often enough to be in the cache.
        let common = [String](repeating: #"{"message":"m","source":{"line":1,"later":{"x":2}},"code":1}"#, count: 20)
        let plain = [String](repeating: #"{"message":"m","source":{"line":1},"code":1}"#, count: 20)
        let odd = #"{"message":"m","source":\#(source),"severity":"critical","code":2}"#
        let decoding = try Decoding("[\((common + plain + [odd, odd]).joined(separator: ","))]")
        let alone = try Decoding("[\(odd)]")
        #expect(decoding.rejections.allSatisfy { $0 == nil })
        #expect(decoding.series(40) == alone.series(0))
        #expect(decoding.series(41) == alone.series(0))
    }

    @Test("A cached source or application counts with all its keys, even though they are not decoded again")
    func keys() throws {
        var limits = RecordLimits()
        limits.keys = 8
        let source = Self.sources[0]
        let fits = #"{"message":"m","code":1,"source":\#(source)}"#
        let exceeds = #"{"message":"m","code":1,"count":1,"source":\#(source)}"#
        let decoding = try Decoding("[\(fits),\(fits),\(exceeds),\(fits)]", limits: limits)
        #expect(decoding.rejections.map { $0 == nil } == [true, true, false, true])
        #expect(decoding.rejections[2]?.reason == "the record has more than 8 keys")
    }

    @Test("A cached source or application is found among more objects than the cache holds")
    func many() throws {
        let records = (0..<30_000).map { index in
            let line = index % 3 == 0 ? index : index % 1000
            return #"{"message":"m","source":{"file_id":"Sources/Shop/Cart.swift","line":\#(line),"column":3}}"#
        }
        let decoding = try Decoding("[\(records.joined(separator: ","))]")
        for index in records.indices {
            let line = index % 3 == 0 ? index : index % 1000
            #expect(decoding.series(index)?.source.line == Int64(line))
        }
    }
}

import IssueCore
import IssueProtocol
import Testing

@Suite("Decoding records for the store")
struct RecordDecoderTests {
    @Test("Decoding keeps every field")
    func keepsAll() throws {
        let decoding = try Decoding(
            """
            [{"message":"Decoding failed: 3","severity":"critical","domain":"shop.Error","code":4865,
            "occurred_at":"2026-11-21T10:00:00.123Z","first_occurred_at":"2026-11-21T09:00:00Z",
            "source":{"file_id":"Shop/A.swift","line":42,"column":9,"function":"load(page:)","module":"Shop"},
            "app":{"name":"shop","version":"2.0.0","build":2500,"environment":"production","platform":"linux",
            "network":"wifi","development":false},"fingerprint":"mine","count":7,
            "backtrace":[{"image":"shop","build_id":"ab","offset":74565,"symbol":null}],
            "causes":[{"domain":"D","code":-1,"message":"m"}],"metadata":{"a": [1, null]},"reportable":false}]
            """)
        let record = try #require(decoding.record(0))
        #expect(record.message == "Decoding failed: 3")
        #expect(record.severity == .critical)
        #expect(record.domain == "shop.Error")
        #expect(record.code == 4865)
        #expect(record.occurredAt?.description == "2026-11-21T10:00:00.123Z")
        #expect(record.firstOccurredAt?.description == "2026-11-21T09:00:00.000Z")
        #expect(
            record.source
                == SourceLocation(
                    fileID: "Shop/A.swift", line: 42, column: 9, function: "load(page:)", module: "Shop"))
        #expect(
            record.app
                == Application(
                    name: "shop", version: "2.0.0", build: 2500, environment: "production", platform: "linux",
                    network: "wifi", development: false))
        #expect(record.fingerprint == "mine")
        #expect(record.count == 7)
        #expect(record.backtrace == [BacktraceFrame(image: "shop", buildID: "ab", offset: 74565)])
        #expect(record.causes == [IssueCause(domain: "D", code: -1, message: "m")])
        #expect(decoding.batch.string(decoding.batch.records[0].metadata) == #"{"a": [1, null]}"#)
        #expect(record.reportable == false)
        #expect(decoding.batch.records[0].isReportable == false)
        #expect(decoding.batch.records[0].severity == .critical)
    }

    @Test(
        "Decoding names the field of a value that has the wrong type or is out of range",
        arguments: [
            (#""message":1"#, "message"), (#""severity":3"#, "severity"), (#""severity":"bad""#, "severity"),
            (#""domain":{}"#, "domain"), (#""code":"1""#, "code"), (#""code":1.0"#, "code"),
            (#""code":9223372036854775808"#, "code"), (#""occurred_at":0"#, "occurred_at"),
            (#""occurred_at":"yesterday""#, "occurred_at"), (#""first_occurred_at":true"#, "first_occurred_at"),
            (#""count":0"#, "count"), (#""count":-1"#, "count"), (#""count":1000000001"#, "count"),
            (#""source":[]"#, "source"), (#""source":{"file_id":1}"#, "source.file_id"),
            (#""source":{"line":"1"}"#, "source.line"), (#""source":{"column":[]}"#, "source.column"),
            (#""source":{"function":1}"#, "source.function"), (#""source":{"module":1}"#, "source.module"),
            (#""app":"shop""#, "app"), (#""app":{"name":1}"#, "app.name"), (#""app":{"version":2}"#, "app.version"),
            (#""app":{"build":"1"}"#, "app.build"), (#""app":{"environment":1}"#, "app.environment"),
            (#""app":{"platform":1}"#, "app.platform"), (#""app":{"network":1}"#, "app.network"),
            (#""app":{"development":"no"}"#, "app.development"), (#""fingerprint":1"#, "fingerprint"),
            (#""backtrace":{}"#, "backtrace"), (#""backtrace":[1]"#, "backtrace"),
            (#""backtrace":[{"offset":"0x1"}]"#, "backtrace"), (#""backtrace":[{"image":1}]"#, "backtrace"),
            (#""causes":"x""#, "causes"), (#""causes":[[]]"#, "causes"), (#""causes":[{"code":"1"}]"#, "causes"),
            (#""causes":[{},{"message":1}]"#, "causes"), (#""metadata":[]"#, "metadata"),
            (#""metadata":"x""#, "metadata"), (#""reportable":1"#, "reportable"),
        ])
    func names(member: String, field: String) throws {
        for json in [#"[{"message":"m",\#(member)}]"#, #"[{\#(member),"later":1,"message":"m"}]"#] {
            let decoding = try Decoding(json)
            let rejection = try #require(decoding.rejections[0])
            if field == "message", json.hasSuffix(#""m"}]"#) { continue }
            #expect(rejection.field == field)
            #expect(!rejection.reason.isEmpty)
            #expect(decoding.batch.records.isEmpty)
            #expect(decoding.batch.bytes.isEmpty)
        }
    }

    @Test(
        "Decoding rejects values that are not records",
        arguments: [
            ("1", nil), ("[]", nil), ("null", nil), (#""x""#, nil), ("{}", "message"),
            (#"{"message":null}"#, "message"), (#"{"message":"a","message":null}"#, "message"),
        ] as [(String, String?)])
    func refuses(json: String, field: String?) throws {
        let decoding = try Decoding("[\(json)]")
        let rejection = try #require(decoding.rejections[0])
        #expect(rejection.field == field)
    }

    @Test("Decoding rejects a bad record without affecting the others")
    func sparesNeighbours() throws {
        let bad = [
            "7", "{}", #"{"message":"m","source":{"line":"x","deep":{"er":[1,{"a":"}]"}]}},"app":3}"#,
            #"{"metadata":\#(String(repeating: "[", count: 500))\#(String(repeating: "]", count: 500))}"#,
            #"{"message":"m","metadata":{\#((0..<300).map { "\"k\($0)\":0" }.joined(separator: ","))}}"#,
            #"{"message":"m","causes":[{"code":1},{"code":"\ud83d\udd25"}],"count":2}"#,
        ]
        let good = (0...bad.count).map { #"{"message":"good \#($0)","domain":"d\#($0)"}"# }
        let json = zip(good, bad).flatMap { [$0, $1] }.joined(separator: ",") + "," + (good.last ?? "")
        let decoding = try Decoding("[\(json)]")
        #expect(decoding.rejections.map { $0 == nil } == (0...(2 * bad.count)).map { $0.isMultiple(of: 2) })
        for index in 0...bad.count {
            #expect(decoding.record(index)?.message == "good \(index)")
            #expect(decoding.record(index)?.domain == "d\(index)")
        }
    }

    @Test("Decoding limits depth, keys and size of each record and names the limit")
    func bounds() throws {
        var limits = RecordLimits()
        limits.depth = 6
        limits.keys = 5
        limits.recordBytes = 100
        func rejection(_ json: String) throws -> RecordRejection? {
            try Decoding("[\(json)]", limits: limits).rejections[0]
        }
        #expect(try rejection(#"{"message":"m","metadata":{"a":[[[]]]}}"#) == nil)
        #expect(try rejection(#"{"message":"m","metadata":{"a":[[[[]]]]}}"#)?.field == "metadata")
        #expect(try rejection(#"{"message":"m","metadata":{"a":[[[[]]]]}}"#)?.reason.contains("6") == true)
        #expect(try rejection(#"{"message":"m","unknown":[[[[[]]]]]}"#)?.field == nil)
        #expect(try rejection(#"{"message":"m","unknown":[[[[[]]]]]}"#) != nil)
        #expect(try rejection(#"{"message":"m","a":1,"b":2,"c":3,"d":4}"#) == nil)
        #expect(try rejection(#"{"message":"m","a":1,"b":2,"c":3,"d":4,"e":5}"#)?.reason.contains("5") == true)
        #expect(try rejection(#"{"message":"m","a":1,"b":2,"c":3,"code":4,"e":5}"#)?.field == nil)
        #expect(try rejection(#"{"message":"m","metadata":{"a":1,"b":2,"c":3}}"#) == nil)
        #expect(try rejection(#"{"message":"m","metadata":{"a":1,"b":2,"c":3,"d":4}}"#)?.field == "metadata")
        let padding = String(repeating: "x", count: 86)
        #expect(try rejection(#"{"message":"\#(padding)"}"#) == nil)
        #expect(try rejection(#"{"message":"\#(padding)x"}"#)?.reason.contains("100") == true)
        // Each record's keys are counted separately.
        #expect(
            try Decoding(#"[{"message":"m","a":1,"b":2},{"message":"m","a":1,"b":2}]"#, limits: limits).rejections
                == [nil, nil])
    }

    @Test(
        "A text that describes a series is cut to at most 2,048 bytes of JSON, never within a character or escape",
        arguments: [
            (String(repeating: "x", count: 2048), 2048), (String(repeating: "x", count: 2049), 2048),
            (String(repeating: "x", count: 2047) + "é", 2047), (String(repeating: "x", count: 2046) + "éé", 2048),
            (String(repeating: "\\u0041", count: 400), 341),
            (String(repeating: "x", count: 2037) + "\\ud83d\\udd25", 2037),
            (String(repeating: "x", count: 2036) + "\\ud83d\\udd25x", 2040),
            (String(repeating: "x", count: 2047) + "\\n", 2047), (String(repeating: "x", count: 2046) + "\\nx", 2047),
        ])
    func longAttributes(_ json: String, _ bytes: Int) throws {
        let decoding = try Decoding(
            #"[{"message":"\#(json)","domain":"\#(json)","fingerprint":"\#(json)","source":{"function":"\#(json)"}}]"#)
        #expect(decoding.rejections == [nil])
        let record = try #require(decoding.record(0))
        #expect(record.domain?.utf8.count == bytes)
        #expect(record.fingerprint == record.domain && record.source?.function == record.domain)
        #expect(record.message.hasPrefix(try #require(record.domain)) && !record.message.contains("\u{FFFD}"))
        #expect(record.message.utf8.count >= bytes)
    }

    @Test(
        "Decoding throws if the bytes are not JSON",
        arguments: [
            #"[{"message":"m"]"#, #"[{"message":"m",}]"#, #"[{"message":"\x"}]"#, #"[{"message":"\ud800"}]"#,
            #"[{"message":tru}]"#, #"[{"message" "m"}]"#, #"[{message:"m"}]"#, "[{\"message\":\"\n\"}]", "[,]", "[1",
            #"[{"code":"wrong","later":tru}]"#, #"[{"code":01,"message":"m"}]"#,
        ])
    func throwsOnMalformed(json: String) {
        #expect(throws: JSONError.self) { try Decoding(json) }
    }

    @Test("Decoding throws if the bytes are not UTF-8")
    func throwsOnInvalidText() {
        #expect(throws: JSONError.self) {
            try Decoding(bytes: Array(#"[{"message":""#.utf8) + [0xC0, 0xAF] + Array(#""}]"#.utf8))
        }
    }

    @Test("Decoding throws and does not trap wherever the bytes end")
    func survivesTruncation() throws {
        let json =
            #"[{"message":"a \"1\" \u00e9\ud83d\udd25 é","code":-12,"metadata":{"k":[1.5e3,true,null]},"count":2},7,{"#
            + #""message":"b","source":{"line":3},"occurred_at":"2026-11-21T10:00:00Z","causes":[{"code":1}]}]"#
        let bytes = Array(json.utf8)
        #expect(try Decoding(bytes: bytes).rejections.count == 3)
        for end in 0..<bytes.count {
            #expect(throws: JSONError.self) { try Decoding(bytes: Array(bytes[..<end])) }
        }
    }

    @Test("Decoding survives any byte at any position", arguments: 0..<4)
    func survivesDamage(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let json =
            #"[{"message":"a \"1\" \u00e9","code":-12,"app":{"name":"x"},"metadata":{"k":[1.5]},"causes":[{}]},{}]"#
        for _ in 0..<2000 {
            var bytes = Array(json.utf8)
            for _ in 0..<(1 + traffic.number(below: 3)) {
                bytes[Int(traffic.number(below: Int64(bytes.count)))] = UInt8(truncatingIfNeeded: traffic.next())
            }
            _ = try? Decoding(bytes: bytes)
        }
    }

    @Test("Decoding resolves escapes in keys and values")
    func resolves() throws {
        let decoding = try Decoding(
            #"[{"m\u0065ssage":"\u0061\n\ud83d\udd25\/","s\u006furce":{"l\u0069ne":5},"severity":"w\u0061rning","#
                + #""occurred_at":"2026-11-21T10:00:00\u002e5Z","dom\u0061in":"é\u00e9"}]"#)
        let record = try #require(decoding.record(0))
        #expect(record.message == "a\n🔥/")
        #expect(record.source?.line == 5)
        #expect(record.severity == .warning)
        #expect(record.occurredAt?.description == "2026-11-21T10:00:00.500Z")
        #expect(record.domain == "éé")
    }

    @Test("Decoding uses the last value of a duplicate key, and treats null as absent")
    func takesLast() throws {
        let decoding = try Decoding(
            """
            [{"message":"a","message":"b","code":1,"code":null,"source":{"line":1,"column":2},"source":{"column":3},
            "app":{"name":"a","build":7,"build":null},"app":null,"reportable":false,"reportable":null,
            "severity":"debug","severity":null,"metadata":{"a":1},"metadata":{"b":2},"causes":null,"count":null,
            "fingerprint":"f","fingerprint":null,"backtrace":[{"line":1}],"backtrace":null}]
            """)
        let record = try #require(decoding.record(0))
        #expect(
            record
                == IssueRecord(
                    message: "b", severity: .error, count: 1, source: SourceLocation(column: 3), app: Application(),
                    metadata: ["b": 2], reportable: true))
        // No part of the discarded values remains in the series key.
        let plain = try Decoding(#"[{"message":"b","source":{"column":3}}]"#)
        let keys = [decoding.batch, plain.batch].map { $0.seriesKey(of: $0.records[0]) }
        #expect(keys[0] == keys[1])
        #expect(decoding.series(0) == plain.series(0))
    }

    @Test("Decoding skips unknown fields")
    func passesUnknown() throws {
        let decoding = try Decoding(
            #"[{"new":[{"message":"x"}],"message":"m","source":{"new":{},"line":1},"app":{"new":[1]},"":0}]"#)
        #expect(decoding.record(0)?.message == "m")
        #expect(decoding.record(0)?.source?.line == 1)
    }

    @Test("Decoding gives records that differ only in numbers the same series, and others their own")
    func groupsSeries() throws {
        let decoding = try Decoding(
            """
            [{"message":"took 1 ms","domain":"d"},{"domain":"d","message":"took 25 ms","metadata":{"x":1}},
            {"message":"took 1 ms","domain":"e"},{"message":"took 1 ms","domain":"d","code":0}]
            """)
        let series = decoding.batch.records.map(\.series)
        #expect(series[0] == series[1])
        #expect(decoding.series(0) == decoding.series(1))
        #expect(Set(series).count == 3)
    }
}

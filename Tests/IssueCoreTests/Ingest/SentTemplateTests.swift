import IssueCore
import IssueProtocol
import Testing

@Suite("The template that a sender gives")
struct SentTemplateTests {
    private static let call =
        #""source":{"file_id":"Shop/Cart.swift","line":7,"column":9,"function":"add()","module":"Shop"}"#

    private func series(_ json: String, limits: RecordLimits = RecordLimits()) throws -> SeriesDescription {
        try #require(try Decoding("[{\(json),\(Self.call)}]", limits: limits).series(0))
    }

    private func title(_ json: String, limits: RecordLimits = RecordLimits()) throws -> String {
        MessageTemplate.title(of: try series(json, limits: limits).template[...])
    }

    private func fingerprint(_ json: String) throws -> String { Fingerprint.of(try series(json), app: "shop") }

    @Test(
        "The sender's template is used instead of the daemon's own",
        arguments: [
            (
                #""message":"User ann not found","template":"User {} not found","parts":["ann"]"#,
                "User <value> not found"
            ),
            (#""message":"3 of 4","template":"{} of 4","parts":[3]"#, "<value> of 4"),
            (#""message":"HTTP 404","template":"HTTP 404""#, "HTTP 404"),
            (#""message":"HTTP 404","template":"HTTP 404","parts":[]"#, "HTTP 404"),
            (#""parts":[1.50,true,"x"],"message":"1.50 true x","template":"{} {} {}""#, "<value> <value> <value>"),
            (#""message":"a{b}c 1","template":"a{{b}}c {}","parts":["1"]"#, "a{b}c <value>"),
            (#""message":"{}","template":"{{}}""#, "{}"),
            (#""message":"x1y","template":"x{}{}{}y","parts":["","1",""]"#, "x<value><value><value>y"),
            (#""message":"","template":"""#, ""),
            (#""message":"\u00e9t\u00e9 5","template":"\u00e9t\u00e9 {}","parts":["\u0035"]"#, "été <value>"),
            (#""message":"été 5","template":"\u00e9t\u00e9 {}","parts":["5"]"#, "été <value>"),
        ])
    func replaces(json: String, title: String) throws {
        #expect(try self.title(json) == title)
    }

    @Test(
        "The daemon's own rule applies to the text that follows the sender's template in the message",
        arguments: [
            (#""message":"Load ann: code 5","template":"Load {}","parts":["ann"]"#, "Load <value>: code <n>"),
            (#""message":"Load 5: code 5","template":"Load 5""#, "Load 5: code <n>"),
            (#""message":"at /a/b","template":"""#, "at <path>"),
        ])
    func leavesRest(json: String, title: String) throws {
        #expect(try self.title(json) == title)
    }

    @Test(
        "The sender's template is ignored if it contradicts the message",
        arguments: [
            #""template":"User {} found","parts":["7"]"#, #""template":"User {} not found","parts":["8"]"#,
            #""template":"User {} not found","parts":["77"]"#, #""template":"User {} not found","parts":["7","8"]"#,
            #""template":"User {} not found","parts":[]"#, #""template":"User {} not found""#,
            #""template":"User {} not found","parts":[7.0]"#, #""template":"User 7 not found","parts":[7]"#,
            #""template":"User {} not found.","parts":[7]"#, #""template":"User {","parts":["7"]"#,
            #""template":"User }","parts":[]"#, #""template":"User {0} not found","parts":["7"]"#,
            #""template":"user {} not found","parts":["7"]"#, #""parts":["7"]"#, #""template":null,"parts":["7"]"#,
            #""template":"User {} not found","parts":null"#,
            #""template":"User {} not found","parts":["7"],"template":"User""#,
        ])
    func isIgnored(json: String) throws {
        #expect(try series(#""message":"User 7 not found",\#(json)"#) == series(#""message":"User 7 not found""#))
    }

    @Test("The sender's template is ignored if it has more bytes or values than allowed")
    func hasLimits() throws {
        var limits = RecordLimits()
        limits.templateBytes = 10
        limits.parts = 3
        #expect(try title(#""message":"abcd 1 2 3","template":"abcd 1 2 3""#, limits: limits) == "abcd 1 2 3")
        let long = try title(#""message":"abcd 1 2 34","template":"abcd 1 2 34""#, limits: limits)
        #expect(try long == title(#""message":"abcd 1 2 34""#))
        #expect(long != "abcd 1 2 34")
        #expect(
            try title(#""message":"1a2","template":"{}a{}{}","parts":[1,2,""]"#, limits: limits)
                == "<value>a<value><value>")
        #expect(
            try title(#""message":"1a2","template":"{}a{}{}","parts":[1,2,"",""]"#, limits: limits)
                == title(#""message":"1a2""#))
    }

    @Test("A record is rejected if the sender's template or its values have the wrong type")
    func hasTypes() throws {
        for json in [
            #""template":1"#, #""template":["a"]"#, #""parts":"a""#, #""parts":{}"#, #""parts":[null]"#,
            #""parts":[[1]]"#, #""parts":[{}]"#,
        ] {
            let member = json.contains("template") ? "template" : "parts"
            let rejection = try Decoding(#"[{"message":"a",\#(json)}]"#).rejections.first
            #expect(rejection??.field == member, "\(json)")
            #expect(rejection??.reason == "the value has the wrong type")
            #expect(throws: FieldError.self) { try IssueRecord(json: #"{"message":"a",\#(json)}"#) }
        }
    }

    @Test(
        "Every message is restored exactly from the sender's template and the values, whatever they contain",
        arguments: 0..<6)
    func givesBack(seed: UInt64) throws {
        var traffic = SeededGenerator(seed: seed)
        var used = 0
        for _ in 0..<400 {
            var record = IssueRecord(message: "", template: "")
            for _ in 0..<traffic.number(below: 6) {
                let text = GeneratedTexts.message(using: &traffic)
                record.message += text
                if traffic.happens(oneIn: 2) {
                    record.parts.append(.string(text))
                    record.template! += "{}"
                } else {
                    record.template! += text.replacing("{", with: "{{").replacing("}", with: "}}")
                }
            }
            if traffic.happens(oneIn: 3) { record.message += GeneratedTexts.message(using: &traffic) }
            let decoding = try Decoding(bytes: [UInt8(ascii: "[")] + record.json + [UInt8(ascii: "]")])
            #expect(decoding.record(0)?.message.utf8.elementsEqual(record.message.utf8) == true)
            let template = try #require(decoding.series(0)).template
            if template.contains(MessageTemplate.Placeholder.value.rawValue) { used += 1 }
            #expect(template.count <= 1024)
            #expect(!template.contains { $0 < 0x20 && ![9, 10, 13].contains($0) && $0 > 7 })
        }
        #expect(used > 100)
    }

    @Test("The sender's template decides the group: messages of one template belong together, and others do not")
    func decidesGroup() throws {
        let one = try fingerprint(#""message":"User ann not found","template":"User {} not found","parts":["ann"]"#)
        let other = try fingerprint(#""message":"User 7 not found","template":"User {} not found","parts":[7]"#)
        let hidden = try fingerprint(
            #""message":"User <private> not found","template":"User {} not found","parts":["<private>"]"#)
        #expect(Set([one, other, hidden]).count == 1)
        #expect(try fingerprint(#""message":"User ann not found","template":"User ann not found""#) != one)
        #expect(
            try fingerprint(#""message":"HTTP 404","template":"HTTP 404""#)
                != fingerprint(#""message":"HTTP 500","template":"HTTP 500""#))
    }

    @Test("If the sender's template has only values and punctuation, the fingerprint includes the place of the call")
    func hasPlace() throws {
        func fingerprint(_ json: String, line: Int) throws -> String {
            var series = try series(json)
            series.source.line = Int64(line)
            return Fingerprint.of(series, app: "shop")
        }
        let alone = [
            #""message":"ann","template":"{}","parts":["ann"]"#,
            #""message":"a: 7","template":"{}: {}","parts":["a",7]"#,
        ]
        for json in alone { #expect(try fingerprint(json, line: 1) != fingerprint(json, line: 2)) }
        #expect(try fingerprint(alone[0], line: 1) != fingerprint(alone[1], line: 1))
        let others = [
            #""message":"é 7","template":"é {}","parts":[7]"#, #""message":"7 8","template":"7 {}","parts":[8]"#,
            #""message":"7""#, #""message":"???","template":"???""#,
        ]
        for json in others { #expect(try fingerprint(json, line: 1) == fingerprint(json, line: 2), "\(json)") }
    }
}

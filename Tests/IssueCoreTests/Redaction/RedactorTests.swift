import IssueCore
import IssueProtocol
import Testing

@Suite("Redaction of records")
struct RedactorTests {
    private func settings(_ change: (inout RedactionSettings) -> Void = { _ in }) -> RedactionSettings {
        var settings = RedactionSettings()
        change(&settings)
        return settings
    }

    @Test("Redaction applies to every text of a record")
    func everyField() throws {
        let decoding = try Decoding(
            """
            [{"message":"login with password=hunter2 failed","domain":"shop password=hunter2","code":4,
            "fingerprint":"login password=hunter2",
            "source":{"file_id":"Shop/https://a:hunter2@b/x","line":3,"function":"f(https://a:hunter2@b)","module":"M"},
            "app":{"name":"shop password=hunter2","version":"secret=hunter2","environment":"token=hunter2222"},
            "causes":[{"domain":"d","code":1,"message":"password=hunter2"}],
            "backtrace":[{"image":"i","symbol":"g(https://a:hunter2@b)","file":"https://a:hunter2@b"}],
            "metadata":{"a":{"b":["x",{"password":"hunter2"}]},"crumbs":[{"message":"api_key=hunter2"}]}}]
            """, redactor: Redactor(settings()))
        let record = try #require(decoding.record(0))
        let json = String(decoding: record.json, as: UTF8.self)
        #expect(!json.contains("hunter2"))
        #expect(record.message == "login with password=[@password] failed")
        #expect(record.domain == "shop password=[@password]")
        #expect(record.app?.environment == "token=[@token]")
        #expect(record.source?.function == "f(https://[@urlauth]@b)")
        #expect(record.causes.first?.message == "password=[@password]")
        #expect(record.backtrace.first?.symbol == "g(https://[@urlauth]@b)")
        #expect(
            record.metadata
                == (try JSONValue(
                    json: #"{"a":{"b":["x",{"password":"[@password]"}]},"crumbs":[{"message":"api_key=[@apikey]"}]}"#)))
        #expect(decoding.redactions[.urlauth] == 4)
    }

    @Test("Redaction does not change the names of functions and types")
    func code() throws {
        let decoding = try Decoding(
            """
            [{"message":"m","source":{"function":"login(password: String, token: Token1234567)"},
            "backtrace":[{"symbol":"login(password: Swift.String, apiKey: Key)"}]}]
            """, redactor: Redactor(settings()))
        #expect(decoding.record(0)?.source?.function == "login(password: String, token: Token1234567)")
        #expect(decoding.record(0)?.backtrace.first?.symbol == "login(password: Swift.String, apiKey: Key)")
    }

    @Test("Redaction keeps a record without secrets byte for byte")
    func unchanged() throws {
        let metadata = #"{ "path":"a\/b", "keys": [1, 2.50,"é\u00e9"] ,"author":"ann"}"#
        let decoding = try Decoding("[{\"message\":\"m\",\"metadata\":\(metadata)}]", redactor: Redactor(settings()))
        let record = decoding.batch.records[0]
        #expect(decoding.batch.string(record.metadata) == metadata)
        #expect(decoding.redactions.isEmpty)
    }

    @Test("Redaction changes nothing but the value in metadata")
    func onlyTheValue() throws {
        let decoding = try Decoding(
            #"[{"message":"m","metadata":{ "a":1.50, "password" : "x" , "b":"\/é\u00e9" }}]"#,
            redactor: Redactor(settings()))
        let record = decoding.batch.records[0]
        #expect(
            decoding.batch.string(record.metadata) == #"{ "a":1.50, "password" : "[@password]" , "b":"\/é\u00e9" }"#)
    }

    @Test("Redaction resolves the escapes of a sender that hides a name or a value")
    func escapes() throws {
        let decoding = try Decoding(
            #"[{"message":"p\u0061ssword=\u0068unter2","metadata":{"\u0070assword":"x","m":"\u0070wd=hunter2","u":"https:\/\/a:b@c"}}]"#,
            redactor: Redactor(settings()))
        let record = try #require(decoding.record(0))
        #expect(record.message == "password=[@password]")
        let expected = #"{"password":"[@password]","m":"pwd=[@password]","u":"https://[@urlauth]@c"}"#
        #expect(record.metadata == (try JSONValue(json: expected)))
    }

    @Test("Redaction finds a name that is escaped in metadata, whatever its script", arguments: ["пароль", "密码"])
    func escapedName(name: String) throws {
        let escaped = name.unicodeScalars.map { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
        let decoding = try Decoding(
            #"[{"message":"m","metadata":{"note":"\#(escaped): Geheim12"}}]"#, redactor: Redactor(settings()))
        #expect(decoding.record(0)?.metadata == (try JSONValue(json: #"{"note":"\#(name): [@password]"}"#)))
    }

    @Test(
        "Redaction finds a secret after a short escape in metadata",
        arguments: [
            ("token=abcd1234efgh", "token=[@token]"), ("secret=abcd1234", "secret=[@secret]"),
            ("AKIAIOSFODNN7EXAMPLE", "[@awskey]"), ("4111 1111 1111 1111", "[@creditcard]"),
            ("sshpass -p hunter22", "sshpass -p [@password]"), ("cookie: a1b2c3d4", "cookie: [@cookie]"),
        ])
    func shortEscape(secret: String, redacted: String) throws {
        for escape in ["\\n", "\\t", "\\r", "\\b", "\\f", "\\n\\n"] {
            let decoding = try Decoding(
                #"[{"message":"m","metadata":{"note":"x\#(escape)\#(secret)"}}]"#, redactor: Redactor(settings()))
            let expected = try JSONValue(json: #"{"note":"x\#(escape)\#(redacted)"}"#)
            #expect(decoding.record(0)?.metadata == expected, "\(escape)")
        }
    }

    @Test("Redaction without a rule for passwords finds other values after an option -p")
    func optionWithoutRule() throws {
        var settings = settings()
        settings[.password] = .off
        settings[.email] = .mask
        let decoding = try Decoding(
            #"[{"message":"m","metadata":{"a":"x -p 1","b":"joe@example.com"}}]"#, redactor: Redactor(settings))
        #expect(decoding.record(0)?.metadata == (try JSONValue(json: #"{"a":"x -p 1","b":"[@email]"}"#)))
    }

    // MARK: Templates of the sender

    @Test("Redaction keeps a sender's template even if one of its values is a secret")
    func sentValue() throws {
        func decode(_ value: String, _ redactor: Redactor) throws -> Decoding {
            try Decoding(
                """
                [{"message":"login with password=\(value) on 7 failed","template":"login with password={} on {} failed",
                "parts":["\(value)",7]}]
                """, redactor: redactor)
        }
        let raw = try decode("hunter", Redactor())
        let redacted = try decode("hunter", Redactor(settings()))
        #expect(redacted.record(0)?.message == "login with password=[@password] on 7 failed")
        #expect(redacted.series(0)?.template == raw.series(0)?.template)
        let masked = try decode("[@password]", Redactor(settings()))
        #expect(masked.series(0)?.template == raw.series(0)?.template)
        #expect(masked.record(0)?.message == redacted.record(0)?.message)
    }

    @Test("Redaction removes a secret from the template of a sender, and one that spans texts and values")
    func sentText() throws {
        let decoding = try Decoding(
            """
            [{"message":"password=hunter2 for ann","template":"password=hunter2 for {}","parts":["ann"]},
            {"message":"password=ab12cd for ann","template":"password=ab{}cd for {}","parts":[12,"ann"]},
            {"message":"user ann password=ab12cd","template":"user {}","parts":["ann"]},
            {"message":"key ab12cd34","template":"key {}cd","parts":["ab12"]}]
            """, redactor: Redactor(settings()))
        #expect(decoding.record(0)?.message == "password=[@password] for ann")
        #expect(decoding.record(1)?.message == "password=[@password] for ann")
        #expect(decoding.record(2)?.message == "user ann password=[@password]")
        #expect(decoding.record(3)?.message == "key ab12cd34")
        for index in 0..<3 {
            let template = String(decoding: decoding.series(index)?.template ?? [], as: UTF8.self)
            #expect(!template.contains("ab") && !template.contains("hunter"))
        }
    }

    @Test("Redaction masks a message that must be stored whole")
    func whole() throws {
        let text = "a\\u0001b password=hunter2 " + String(repeating: "x", count: 2000) + " token=abc123def"
        let decoding = try Decoding("[{\"message\":\"\(text)\"}]", redactor: Redactor(settings()))
        let message = try #require(decoding.record(0)?.message)
        #expect(message.hasPrefix("a\u{1}b password=[@password] xxx"))
        #expect(message.hasSuffix(" token=[@token]"))
        let template = String(decoding: decoding.series(0)?.template ?? [], as: UTF8.self)
        #expect(!template.contains("hunter"))
    }

    // MARK: Actions and settings

    @Test("Redaction hashes equal values equally, and differently with another key")
    func hashes() throws {
        func message(_ key: UInt64, _ text: String) throws -> String? {
            let redactor = Redactor(settings { $0[.email] = .hash }, key: RedactionKey(low: key, high: 9))
            return try Decoding("[{\"message\":\"\(text)\"}]", redactor: redactor).record(0)?.message
        }
        let one = try #require(try message(1, "mail ann@example.net"))
        #expect(one.hasPrefix("mail [@email:"))
        #expect(one.count == "mail [@email:0123456789abcdef]".count)
        #expect(try message(1, "from ann@example.net to")?.contains(one.dropFirst(5)) == true)
        #expect(try message(1, "mail bob@example.net") != one)
        #expect(try message(2, "mail ann@example.net") != one)
    }

    @Test("Redaction with the action `remove` deletes values in texts, and replaces values of secret keys with null")
    func remove() throws {
        let redactor = Redactor(settings { $0[.password] = .remove })
        let decoding = try Decoding(
            #"[{"message":"password=hunter2 x","metadata":{"password":"a","n":{"password":7},"t":"pwd=abc"}}]"#,
            redactor: redactor)
        #expect(decoding.record(0)?.message == "password= x")
        #expect(
            decoding.record(0)?.metadata
                == (try JSONValue(json: #"{"password":null,"n":{"password":null},"t":"pwd="}"#)))
        #expect(decoding.redactions[.password] == 4)
    }

    @Test("Redaction makes a metadata value null if nothing of it remains, and gives redacted keys different names")
    func emptied() throws {
        let redactor = Redactor(settings { $0[.email] = .remove })
        let decoding = try Decoding(
            #"[{"message":"m","metadata":{"a@example.net":"b@example.net","c@example.net":["\u0064@example.net"],"t":"x e@example.net"}}]"#,
            redactor: redactor)
        #expect(
            decoding.record(0)?.metadata
                == (try JSONValue(json: #"{"[@email]":null,"[@email 2]":[null],"t":"x "}"#)))
        #expect(decoding.redactions[.email] == 5)
    }

    @Test("Redaction uses no rule that is off", arguments: RedactionRule.allCases)
    func off(rule: RedactionRule) throws {
        #expect(settings()[rule] == (rule == .email || rule == .ip ? .off : .mask))
        let json = """
            [{"message":"password=ab12cd secret=ab12cd token=ab12cd34 api_key=ab12cd","metadata":{"authorization":
            "Basic ab12cd34","cookie":"ab12cd","a":"Bearer ab12cd34ef","b":"https://ab12cd:x@h","f":"ann@example.net",
            "c":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl","g":"192.0.2.7","d":"AKIAIOSFODNN7EXAMPLE",
            "e":"-----BEGIN PRIVATE KEY-----ab12cd-----END PRIVATE KEY-----","h":"4111 1111 1111 1111",
            "i":"DE89 3704 0044 0532 0130 00","l":"logz.io kQwErTyUiOpAsDfGhJkLzXcVbNmQaZwS",
            "k":"glpat-x9Yz_8Wv-7Ut6Sr5Qp4On3"}}]
            """
        var all = settings()
        for rule in RedactionRule.allCases { all[rule] = .mask }
        #expect(try Decoding(json, redactor: Redactor(all)).redactions[rule] == 1)
        all[rule] = .off
        #expect(try Decoding(json, redactor: Redactor(all)).redactions[rule] == 0)
    }

    @Test("Redaction removes the values of configured names, and keeps those of names that are configured as plain")
    func names() throws {
        let redactor = Redactor(
            settings {
                $0.keys = ["X-Internal-Pin", "badge"]
                $0.plainKeys = ["push_token"]
            })
        let decoding = try Decoding(
            """
            [{"message":"badge: 4711-22 and xInternalPin=9876 and push_token=abc123def4",
            "metadata":{"x_internal_pin":12345,"Badge":"q","pushToken":"abc","other":"badge=4711"}}]
            """, redactor: redactor)
        #expect(decoding.record(0)?.message == "badge: [@secret] and xInternalPin=[@secret] and push_token=abc123def4")
        let expected =
            #"{"x_internal_pin":"[@secret]","Badge":"[@secret]","pushToken":"abc","other":"badge=[@secret]"}"#
        #expect(decoding.record(0)?.metadata == (try JSONValue(json: expected)))
    }

    @Test("Redaction uses each of many configured names, and a name that is configured in both lists is plain")
    func manyNames() throws {
        let redactor = Redactor(
            settings {
                $0.keys = (0..<100).map { "Field-\($0)" } + ["both_ways"]
                $0.plainKeys = ["BothWays"]
            })
        let sent = (0..<102).map { "field\($0)=value" }.joined(separator: " ")
        let decoding = try Decoding(
            "[{\"message\":\"\(sent) both-ways=value\",\"metadata\":{\"FIELD_7\":\"a\",\"field\":\"b\"}}]",
            redactor: redactor)
        let stored = (0..<102).map { "field\($0)=\($0 < 100 ? "[@secret]" : "value")" }.joined(separator: " ")
        #expect(decoding.record(0)?.message == "\(stored) both-ways=value")
        #expect(decoding.record(0)?.metadata == (try JSONValue(json: #"{"FIELD_7":"[@secret]","field":"b"}"#)))
    }

    @Test(
        "Redaction finds a number after groups that only look like its beginning",
        arguments: [
            ("DE89 DE89 3704 0044 0532 0130 00", "DE89 [@iban]"),
            ("AL12 AL12 GB82 WEST 1234 5698 7654 32.", "AL12 AL12 [@iban]."),
            ("DE89 3704 0044 0532 0130 00x", "DE89 3704 0044 0532 0130 00x"),
            ("DE89 3704 0044-0532 0130 00", "DE89 3704 0044-0532 0130 00"),
            ("DE89 3704 0044 05a2 0130 00", "DE89 3704 0044 05a2 0130 00"),
            ("4111 4111 1164 3942 1720", "4111 [@creditcard]"),
            ("4321 1233 6011 4899 269", "[@creditcard]"),
            ("4321 1233 6011 4899 2690", "4321 1233 6011 4899 2690"),
            ("3742 123360 11480 11480", "[@creditcard] 11480"),
            ("3742 1233601 1480", "3742 1233601 1480"),
        ])
    func repeatedBeginnings(sent: String, stored: String) throws {
        let decoding = try Decoding("[{\"message\":\"\(sent)\"}]", redactor: Redactor(settings()))
        #expect(decoding.record(0)?.message == stored)
    }

    @Test("Redaction uses changed settings for the records that follow, even for those of a known series")
    func change() throws {
        let json = Array(#"{"message":"m","domain":"mail ann@example.net","app":{"name":"shop"}}"#.utf8)
        var decoder = RecordDecoder(limits: RecordLimits(), seed: 1, redactor: Redactor(settings()))
        var batch = RecordBatch()
        func decode() throws {
            var scanner = JSONScanner(json.span)
            #expect(try decoder.decode(&scanner, into: &batch) == nil)
        }
        try decode()
        try decode()
        decoder.use(Redactor(settings { $0[.email] = .mask }))
        try decode()
        try decode()
        let domains = batch.records.map { SeriesKey.decode(batch.seriesKey(of: $0))?.domain }
        #expect(domains == ["mail ann@example.net", "mail ann@example.net", "mail [@email]", "mail [@email]"])
    }

    @Test("Redaction removes the rest of a text with more values than it remembers")
    func many() throws {
        let text = String(repeating: "pwd=ab ", count: 6000) + "plain"
        let decoding = try Decoding("[{\"message\":\"\(text)\"}]", redactor: Redactor(settings()))
        let message = try #require(decoding.record(0)?.message)
        #expect(!message.contains("pwd=ab") && !message.contains("plain"))
        #expect(message.hasSuffix("pwd=[@password]"))
    }

    @Test("Redaction applies to a process's texts")
    func text() {
        var redactor = Redactor(settings())
        #expect(redactor.text("tool --password hunter2 --user ann") == "tool --password [@password] --user ann")
        #expect(redactor.text("/usr/bin/tool") == "/usr/bin/tool")
    }

    @Test(
        "Redaction applies to each -p of a command up to 256 bytes after the program, but not in the next command")
    func options() {
        var redactor = Redactor(settings())
        func text(_ text: String) -> String { redactor.text(text).replacing("[@password]", with: "#") }
        #expect(text("mysql -phunter2 -p -phunter3 x") == "mysql -p# -p -p# x")
        #expect(text("ssh -phunter2 -phunter3; mysql -phunter4") == "ssh -phunter2 -phunter3; mysql -p#")
        #expect(text("mysql -phunter2; echo -phunter3 -phunter4") == "mysql -p#; echo -phunter3 -phunter4")
        #expect(text("mysql -phunter2\necho -phunter3") == "mysql -p#\necho -phunter3")
        #expect(text("mysql -phunter2 sshpass -p hunter3 -phunter4") == "mysql -p# sshpass -p # -p#")
        let near = "mysql" + String(repeating: " -p", count: 80)
        #expect(text(near + " -phunter2") == near + " -p#")
        let far = "mysql" + String(repeating: " -p", count: 90)
        #expect(text(far + " -phunter2") == far + " -phunter2")
    }

    @Test(
        "Redaction scans a long text once, whatever is repeated in it", .timeLimit(.minutes(5)),
        arguments: [
            ("!@", "!@!@"), ("glpat-", "glpat-glpat-"), ("xoxb-", "xoxb-xoxb-"), ("password=$", "password=[@password]"),
            ("-----BEGIN PRIVATE KEY-----\n[@pemkey]\n", "-----BEGIN PRIVATE KEY-----\n[@pemkey]\n-----BEGIN"),
            ("tokens='token:", "tokens='token:"), ("[@email", "[@email[@email"), ("-p", "-p-p"),
        ])
    func linear(unit: String, expected: String) throws {
        var redactor = Redactor(settings())
        let text = String(repeating: unit, count: RecordLimits().recordBytes / unit.utf8.count)
        #expect(redactor.text(text).hasPrefix(expected))
        #expect(redactor.json(.string(text)).asString?.hasPrefix(expected) == true)
    }

    @Test("Redaction keeps a variable that stands for a secret, but not a long value that begins like a variable")
    func variables() {
        var redactor = Redactor(settings())
        #expect(redactor.text("password=$DB_PASSWORD") == "password=$DB_PASSWORD")
        #expect(redactor.text("password=$" + String(repeating: "x", count: 127)).hasSuffix("x"))
        #expect(redactor.text("password=$" + String(repeating: "x", count: 128)) == "password=[@password]")
    }

    @Test("Redaction finds a token after a run of characters without a digit")
    func tokensAfterWords() {
        var redactor = Redactor(settings())
        #expect(redactor.text("glpat-glpat-word glpat-abcdefghij0123456789") == "glpat-glpat-word [@servicetoken]")
        #expect(redactor.text("xoxb-xoxb-words xoxb-1234567890-a") == "xoxb-xoxb-words [@servicetoken]")
    }

    @Test("Redaction restores its key from the stored bytes, and refuses a wrong number of bytes")
    func key() {
        let key = RedactionKey(low: 0x0102_0304_0506_0708, high: 0x1112_1314_1516_1718)
        #expect(RedactionKey(key.bytes) == key)
        #expect(RedactionKey([1, 2, 3]) == nil)
    }
}

import IssueCore
import IssueProtocol
import Testing

@Suite("The fingerprint of an issue")
struct FingerprintTests {
    private func fingerprint(_ json: String, app: String = "shop") throws -> String {
        let decoding = try Decoding("[\(json)]")
        return Fingerprint.of(try #require(decoding.series(0)), app: app)
    }

    private static let original = """
        {"message":"Timed out after 30 ms","domain":"shop.Error","code":7,
        "source":{"file_id":"Shop/Net/Load.swift","line":1,"column":2,"function":"load()","module":"Shop"},
        "app":{"name":"shop","version":"1.0","build":1,"environment":"test"},"severity":"error"}
        """

    // If one of these values changes, the rule has changed and needs the next number. Existing groups are then moved
    // to the new rule.
    @Test("The fingerprint of an issue is the value defined by rule 2 on every host")
    func isPinned() throws {
        #expect(Fingerprint.rule == 2)
        let fingerprints = try [
            fingerprint(Self.original), fingerprint(#"{"message":"m"}"#, app: ""),
            fingerprint(#"{"message":"no value for \"x\" at /a/b on 1.2.3.4 and dn228, uid=7","code":0}"#),
        ]
        #expect(fingerprints == ["b55870eadd181f18", "39623dc12cbe917c", "14084764cef229be"])
        #expect(Fingerprint.groupKey(uid: 1001, app: "shop", fingerprint: "0123456789abcdef") == 0x8775_8690_04f3_499f)
    }

    @Test(
        "The fingerprint of an issue does not depend on fields that do not identify the issue",
        arguments: [
            ("30 ms", "2500 ms"), (#""line":1"#, #""line":99"#), (#""column":2"#, #""column":3"#),
            (#""version":"1.0""#, #""version":"2.0""#), (#""build":1"#, #""build":2"#), ("\"test\"", "\"live\""),
            (#""severity":"error""#, #""severity":"critical""#), ("Shop/Net/Load.swift", "Other/Load.swift"),
            (#""severity""#, #""reportable":false,"severity""#), (#""severity""#, #""metadata":{"a":1},"severity""#),
            (#""severity""#, #""count":7,"severity""#), (#""severity""#, #""fingerprint":"","severity""#),
        ])
    func stays(part: String, other: String) throws {
        let changed = Self.original.replacing(part, with: other)
        #expect(changed != Self.original)
        #expect(try fingerprint(changed) == fingerprint(Self.original))
    }

    @Test(
        "The fingerprint of an issue depends on each field that identifies the issue",
        arguments: [
            ("Timed out", "Gave up"), ("shop.Error", "shop.Other"), (#""code":7"#, #""code":8"#),
            (#""code":7,"#, ""), (#""code":7"#, #""code":0"#), ("Load.swift", "Save.swift"), ("load()", "save()"),
            (#""module":"Shop""#, #""module":"Other""#), (#""domain":"shop.Error","#, ""),
        ])
    func differs(part: String, other: String) throws {
        let changed = Self.original.replacing(part, with: other)
        #expect(changed != Self.original)
        #expect(try fingerprint(changed) != fingerprint(Self.original))
    }

    @Test("The fingerprint of an issue belongs to one application")
    func belongs() throws {
        #expect(try fingerprint(Self.original, app: "shop") != fingerprint(Self.original, app: "other"))
    }

    @Test("The fingerprint of an issue is the sender's own if it gave one")
    func isOwn() throws {
        #expect(try fingerprint(#"{"message":"a","fingerprint":"checkout-timeout"}"#) == "checkout-timeout")
    }

    @Test("The fingerprint of an issue gives each user and application a group of its own")
    func makesGroups() {
        let keys: Set<UInt64> = [
            Fingerprint.groupKey(uid: 1, app: "a", fingerprint: "f"),
            Fingerprint.groupKey(uid: 2, app: "a", fingerprint: "f"),
            Fingerprint.groupKey(uid: 1, app: "b", fingerprint: "f"),
            Fingerprint.groupKey(uid: 1, app: "a", fingerprint: "g"),
            Fingerprint.groupKey(uid: 1, app: "af", fingerprint: ""),
        ]
        #expect(keys.count == 5)
    }

    @Test(
        "The fingerprint of an issue is written as sixteen hexadecimal digits",
        arguments: [
            (0, "0000000000000000"), (255, "00000000000000ff"), (.max, "ffffffffffffffff"),
        ] as [(UInt64, String)])
    func isWritten(number: UInt64, text: String) {
        #expect(String(hexadecimal: number, width: 16) == text)
    }
}

import IssueCore
import IssueProtocol
import Testing

@Suite("The decoder and the JSON codec of records")
struct RecordDecoderAgreementTests {
    /// Limits with which the decoder cuts no text of a series, since the codec does not cut texts either.
    private static let limits = {
        var limits = RecordLimits()
        limits.attributeBytes = limits.recordBytes
        return limits
    }()

    @Test("The decoder and the JSON codec of records produce the same record", arguments: 0..<6)
    func agree(seed: UInt64) throws {
        var records = GeneratedRecords(seed: seed)
        var scrambled = ScrambledJSON(seed: seed)
        for _ in 0..<130 {
            let record = records.next()
            let plain = String(decoding: record.json, as: UTF8.self)
            let value = try JSONValue(json: plain)
            let json = scrambled.text(of: value)
            let decoding = try Decoding("[\(plain),\(json)]", limits: Self.limits)
            try #require(decoding.rejections == [nil, nil], "\(json)")
            expectEqual(decoding.record(0), record.withDefaults, plain)
            expectEqual(decoding.record(1), try IssueRecord(json: json).withDefaults, json)
        }
    }

    @Test("The decoder and the JSON codec of records accept and reject the same records", arguments: 10..<16)
    func refuse(seed: UInt64) throws {
        var records = GeneratedRecords(seed: seed)
        var scrambled = ScrambledJSON(seed: seed, isWrong: true)
        var refused = 0
        for _ in 0..<130 {
            let json = scrambled.text(of: try JSONValue(json: records.next().json))
            let decoding = try Decoding("[\(json)]", limits: Self.limits)
            let record = try? IssueRecord(json: json)
            // The codec does not check the number of occurrences.
            guard record?.count ?? 1 > 0 else { continue }
            #expect((decoding.rejections == [nil]) == (record != nil), "\(json)")
            if let record, !decoding.batch.records.isEmpty {
                expectEqual(decoding.record(0), record.withDefaults, json)
            } else {
                refused += 1
            }
        }
        #expect(refused > 12)
    }

    private func expectEqual(_ one: IssueRecord?, _ other: IssueRecord, _ json: String) {
        #expect(one == other, "\(json)")
        // Compare bytes, because two Unicode forms of "é" are equal as strings.
        #expect(one?.json == other.json, "\(json)")
    }
}

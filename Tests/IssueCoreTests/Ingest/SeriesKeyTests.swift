import IssueCore
import IssueProtocol
import Testing

@Suite("The key of a series")
struct SeriesKeyTests {
    private func descriptions(_ count: Int, seed: UInt64) -> [SeriesDescription] {
        var records = GeneratedRecords(seed: seed)
        return (0..<count).map { _ in
            let record = records.next().withDefaults
            var series = SeriesDescription()
            series.severity = record.severity ?? .error
            series.isReportable = record.reportable ?? true
            series.app = record.app ?? Application()
            series.domain = record.domain
            series.code = record.code
            series.source = record.source ?? SourceLocation()
            series.fingerprint = record.fingerprint
            series.template = TemplateOfText(record.message).template
            return series
        }
    }

    @Test("The key of a series decodes to the description it was made from", arguments: 0..<4)
    func givesBack(seed: UInt64) {
        for series in descriptions(500, seed: seed) {
            #expect(SeriesKey.decode(SeriesKey.encode(series)) == series)
        }
        #expect(SeriesKey.decode(SeriesKey.encode(SeriesDescription())) == SeriesDescription())
    }

    @Test("The key of a series is equal for equal descriptions only")
    func isEqual() {
        var one = SeriesDescription()
        one.app.name = "a"
        var keys: Set<[UInt8]> = []
        var variants = [SeriesDescription(), one]
        func add(_ change: (inout SeriesDescription) -> Void) {
            var variant = one
            change(&variant)
            variants.append(variant)
        }
        add { $0.app.name = "" }
        add {
            $0.app.name = nil; $0.app.version = "a"
        }
        add { $0.app.environment = "a" }
        add { $0.app.platform = "a" }
        add { $0.app.network = "a" }
        add { $0.app.build = 0 }
        add { $0.app.development = false }
        add { $0.app.development = true }
        add { $0.code = 0 }
        add { $0.code = 1 }
        add { $0.source.line = 0 }
        add { $0.source.column = 0 }
        add { $0.source.fileID = "a" }
        add { $0.source.function = "a" }
        add { $0.source.module = "a" }
        add { $0.domain = "a" }
        add { $0.fingerprint = "a" }
        add { $0.fingerprint = "" }
        add { $0.template = [97] }
        add { $0.severity = .debug }
        add { $0.isReportable = false }
        for variant in variants { keys.insert(SeriesKey.encode(variant)) }
        #expect(keys.count == variants.count)
    }

    @Test("The key of a series decodes to nil if its bytes are truncated, extended or inconsistent")
    func isNothing() throws {
        let series = try #require(descriptions(20, seed: 5).last)
        let key = SeriesKey.encode(series)
        for end in 0..<key.count { #expect(SeriesKey.decode(Array(key[..<end])) == nil) }
        #expect(SeriesKey.decode(key + [0, 0, 0, 0]) == nil)
        #expect(SeriesKey.decode(key + [1]) == nil)
        var severe = key
        severe[2] = 5
        #expect(SeriesKey.decode(severe) == nil)
        var flagged = key
        flagged[1] |= 0x80
        #expect(SeriesKey.decode(flagged) == nil)
    }

    @Test("The key of a series is decoded from any bytes without trapping", arguments: 0..<4)
    func survives(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        let key = SeriesKey.encode(descriptions(3, seed: seed)[2])
        for _ in 0..<3000 {
            var bytes = key
            for _ in 0..<(1 + traffic.number(below: 4)) {
                bytes[Int(traffic.number(below: Int64(bytes.count)))] = UInt8(truncatingIfNeeded: traffic.next())
            }
            _ = SeriesKey.decode(bytes)
        }
    }
}
